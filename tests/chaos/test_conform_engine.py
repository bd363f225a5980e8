"""Cases of the window language on the local engine: what it can run it gets right, and says so."""

import pytest

from chaos.conform.wid_case import Case
from slackwater import conform_engine
from tests.chaos.test_conform_wid import CASES

JUDGED = {name: case for name, case in CASES.items() if conform_engine.judge(case, interleavings=0)}


def test_all_sliding_windows_with_progress_per_lane_are_run() -> None:
    assert len(JUDGED) >= 40
    for kind in ("slack_time", "slack_tuples", "heartbeat", "punctuation", "ordered_per_members"):
        assert any(f"/{kind}/" in name for name in JUDGED), kind
    classes = {name.split("/")[0] for name in JUDGED}
    assert not classes & {"landmark", "tuple_log", "tuple_event_time", "slide_by_tuple"}


@pytest.mark.parametrize("case", JUDGED.values(), ids=JUDGED)
def test_the_engine_gives_what_is_expected(case: Case) -> None:
    for verdict in conform_engine.judge(case, interleavings=2):
        assert verdict.difference is None, verdict.line()


def test_a_wrong_expectation_is_noticed() -> None:
    case = CASES["worked/01-tumbling"]
    rows = [[*case.expected["rows"][0][:-1], -1], *case.expected["rows"][1:]]
    spoilt = case.model_copy(update={"expected": {**case.expected, "rows": rows}})
    by_engine = conform_engine.judge(spoilt, interleavings=0)[0]
    assert by_engine.judged_by == "engine"
    assert "rows: expected" in str(by_engine.difference)


def test_what_is_left_out_is_said() -> None:
    verdicts = conform_engine.judge(CASES["sliding/slack_time/001"], interleavings=0)
    assert verdicts[0].judged_by == "engine without first, last"
    assert verdicts[1].judged_by == "definition"
