"""What is said of as-of joins: whom they wait for, and what is kept for how long."""

import pytest

from tests.unit.engine.test_asof import ASOF
from windowing.engine.plan import plan_of
from windowing.explain.notes import Findings, notes
from windowing.explain.pipeline import explain_one
from windowing.model import Pipeline, parse_pipeline
from windowing.model.fates import Counts
from windowing.model.standing import LaneEnd, Waiting


def trades(late: str) -> Pipeline:
    return parse_pipeline(
        ASOF.format(within=5_000_000, late=late, left="trades", right="prices", lanes=1)
    )


@pytest.mark.parametrize(
    ("late", "kept"),
    [
        (
            "{policy: drop}",
            [
                "  state: a record of trades until its row is due",
                "    of prices: what the slower topic has not passed yet, and before that the "
                "newest of each key, for 5 s after its time",
                "  late: counted and dropped; a row is sent once, when it is due",
            ],
        ),
        (
            "{policy: update, every: 2 s}\nretention: 1 minute",
            [
                "  state: a record of trades for 67 s after its time, as long as its row may "
                "change",
                "    of prices: what is younger than 67 s behind the slower topic, and before that "
                "the newest of each key, for 5 s more",
                "  late: update: at epochs of 2 s; a record of trades is taken up to 1 min behind "
                "its lane's progress, one of prices less than 65 s behind, and takes back the rows "
                "that had an older one; then dead letters",
            ],
        ),
    ],
)
def test_explain_says_whom_it_waits_for_and_what_is_kept(late: str, kept: list[str]) -> None:
    lines = list(explain_one(plan_of(trades(late)), "pairs"))
    assert lines[:5] == [
        "pairs: as-of join: each record of trades with the newest one of prices; its right fields "
        "are null where there is none",
        "  its partner: left.k = right.k, not younger than the left record, at most 5 s older",
        "    of several at one time the one of the last partition, and there of the last offset",
        "  due: when every partition of prices has passed the left record's time",
        "  key: k, left, left_offset, right, right_offset: both records; revisions count per left "
        "record",
    ]
    assert lines[-3:] == kept


def test_only_the_right_side_holds_rows_back() -> None:
    found = Findings(
        trades("{policy: drop}"),
        {"pairs": Counts.of(read=9, applied=9)},
        {"pairs": 1},
        {"pairs": Waiting(1, 1, first_end=50)},
        {0: LaneEnd(7), 1: LaneEnd(45)},
    )
    (note,) = (line for line in notes(found) if "window" in line)
    assert "prices/0 at 1970-01-01T00:00:00.000045Z holds back" in note
    assert "trades/0" not in note
