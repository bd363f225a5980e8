"""Tests that make many small frames run where polars does: they need an eighth less CPU time."""

from pathlib import Path

import pytest

from chaos.simulator.run import inline

_HERE = Path(__file__).parent
_ROOMS = (
    *("checkpoints", "conformance", "engine", "extension", "fuzz", "jobs", "other_engines"),
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
