"""Recorded cases: failures of the engine or of a check that are mended since, run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.simulate import replay

RECORDED = Path(__file__).parents[3] / "data" / "simulated"


@pytest.mark.parametrize("file", sorted(RECORDED.glob("*.json")), ids=lambda file: file.stem)
def test_a_case_that_once_failed_passes(file: Path) -> None:
    report = replay(file, EngineParts())
    assert report.ok, "\n".join(report.lines())
