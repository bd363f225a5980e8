"""Cases of the window language on the local engine: every class, every aggregate."""

import pytest

from conformance.drivers import wid_local
from tests.sampling import sampled
from tests.unit.conformance.test_wid import CASES


@pytest.mark.parametrize("name", sampled(CASES, every=11))
def test_the_engine_gives_what_is_expected(name: str) -> None:
    for verdict in wid_local.judge(CASES[name], interleavings=1):
        assert verdict.difference is None, verdict.line()


def test_a_wrong_expectation_is_noticed() -> None:
    case = CASES["worked/01-tumbling"]
    rows = [[*case.expected["rows"][0][:-1], -1], *case.expected["rows"][1:]]
    spoilt = case.model_copy(update={"expected": {**case.expected, "rows": rows}})
    by_engine = wid_local.judge(spoilt, interleavings=0)[0]
    assert by_engine.judged_by == "engine"
    assert "rows: expected" in str(by_engine.difference)


def test_the_engine_judges_every_aggregate_that_a_case_asks_for() -> None:
    verdicts = wid_local.judge(CASES["sliding/slack_time/001"], interleavings=0)
    assert [verdict.judged_by for verdict in verdicts] == ["engine", "definition"]
