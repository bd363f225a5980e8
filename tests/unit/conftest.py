"""What all tests here share, so that they need a fifth less CPU time.

Those that make many small frames run where polars does, and the command line is made once.
"""

from functools import cache
from pathlib import Path

import pytest
import typer.main
import typer.testing

from chaos.simulator.run import inline

# Typer makes all of its hundred commands anew for each that is run.
typer.main.get_command = typer.testing._get_command = cache(typer.main.get_command)

_HERE = Path(__file__).parent
_ROOMS = (
    *("checkpoints", "conformance", "engine", "extension", "fuzz", "jobs", "research"),
    *("runtime", "semantics", "slackwater"),
)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Call a test of these rooms inline; None: pytest calls it."""
    if pyfuncitem.path.relative_to(_HERE).parts[0] not in _ROOMS:
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    inline(lambda: pyfuncitem.obj(**arguments))
    return True
