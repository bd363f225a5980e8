"""What commands do not import: each of these libraries takes longer than all that they do."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from slackwater.commands import GROUPS

ROOT = Path(__file__).parents[3]
CASE = ROOT / "tests" / "data" / "pipelines" / "late-update-generous"
FEW = 8
"""Events of the case."""


def imported(*arguments: str | Path) -> set[str]:
    """Run a command in a process; return the packages that it has imported."""
    code = (
        "import sys; from slackwater.main import run; code = run()\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr); sys.exit(code)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return set(ran.stderr.split())


@pytest.mark.parametrize(
    "file",
    [CASE / "pipeline.yml", ROOT / "pipelines" / "flight_delays.yml"],
    ids=["plain", "quality"],
)
def test_validate_imports_no_library_of_tables(file: Path) -> None:
    heavy = {"numba", "polars", "pyarrow", "pandas", "numpy", "great_expectations"}
    assert not heavy & imported("validate", file)


def test_run_over_few_rows_imports_no_compiler(tmp_path: Path) -> None:
    events = CASE / "events.jsonl"
    assert len(events.read_text(encoding="utf-8").splitlines()) == FEW
    output = tmp_path / "out.jsonl"
    found = imported("run", CASE / "pipeline.yml", "--input", events, "--output", output)
    assert "polars" in found
    assert not {"numba", "llvmlite", "scipy", "pandas", "great_expectations"} & found


def test_the_modules_of_commands_have_those_that_are_listed_and_no_others() -> None:
    listed = {(module, name) for names in GROUPS.values() for name, module in names.items()}
    found = {
        (module, one.__name__.replace("_", "-"))
        for module, _ in listed
        for one in getattr(import_module(f"slackwater.{module}"), "COMMANDS", ())
    }
    groups = {("chaos", "chaos"), ("queries", "queries"), ("secret", "secret")}
    assert listed == found | groups
