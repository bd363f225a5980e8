"""Which pairs of features meet in drawn cases."""

from __future__ import annotations

from chaos.simulator.coverage import legal, spelled
from chaos.simulator.features import ALL, pairs_of
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.run import draw_case
from windowing.model import parse_pipeline

RUNS = 2000


def test_nearly_all_legal_pairs_are_drawn_and_no_other() -> None:
    met: set[int] = set()
    for number in range(RUNS):
        case = draw_case(3, number, EngineParts())
        met |= pairs_of(case, parse_pipeline(case.pipeline))
    apart = {number for number in met if _of(number)[0] != _of(number)[1]}
    assert not sorted(map(spelled, apart - legal()))
    assert len(met & legal()) >= 0.95 * len(legal())


def _of(number: int) -> tuple[str, str]:
    return ALL[number // len(ALL)][0], ALL[number % len(ALL)][0]
