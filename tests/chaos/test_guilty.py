"""The tester is tested: every engine with a planted defect is found, and for the right reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chaos.guilty import GUILTY, roll
from chaos.simulator.simulate import SHRUNK as SHRUNK_BY_DEFAULT
from chaos.simulator.simulate import simulate

RUNS = 1000
NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
# Each seed is another search from its first run on. What takes time is to make a failure small; by
# day that is left to the simulator's own tests.
SEEDS, SHRUNK = (range(7, 17), SHRUNK_BY_DEFAULT) if NIGHTLY else ((7,), 0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", GUILTY)
def test_a_guilty_engine_is_found_and_the_check_says_why(
    name: str, seed: int, tmp_path: Path
) -> None:
    guilty = GUILTY[name]
    report = simulate(RUNS, seed, parts=guilty.parts, keep=tmp_path, stop_at=1, shrunk=SHRUNK)
    assert report.failures, f"{name} was not found in {RUNS} runs"
    first = report.failures[0]
    assert {finding.check for finding in first.findings} & guilty.expected, first.lines()
    assert first.file.is_file()


def test_every_module_stands_on_the_roll_and_says_what_it_does() -> None:
    files = Path(roll.__file__).parent.glob("*.py")
    accused = {path.stem for path in files if "\nGUILTY = guilty(" in path.read_text()}
    assert accused == set(GUILTY)
    for module in roll._MODULES:
        for word in ("Defect:", "How one gets it:", "Expected:"):
            assert word in (module.__doc__ or "")
