"""Which lines belong together, and what differs between them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.file_tests.matching import Found, is_same, matched, paired
from chaos.file_tests.words import lines_of
from windowing.model.file.file_tests import ExpectedLetter, ExpectedRow


def row(window: int, n: int = 1, **more: Any) -> dict[str, Any]:
    return {"window_id": window, "key": ["a"], "values": {"n": n, "m": None}, **more}


def expected(*rows: dict[str, Any]) -> list[ExpectedRow]:
    return [ExpectedRow.model_validate(one) for one in rows]


def test_what_is_not_named_is_not_compared() -> None:
    found = Found({"q": [row(0, records=9), row(1)], "other": [row(5)]}, [], {"filtered": 2})
    wanted = expected({"window_id": 0, "values": {"n": 1}}, {})
    assert all(part.ok for part in matched({"q": wanted, "filtered": 2}, found))
    assert all(part.ok for part in matched({"dead_letters": []}, found))


@pytest.mark.parametrize(
    ("wanted", "differing"),
    [
        ({"values": {"n": 2, "m": None}}, ("values.n",)),
        ({"values": {"m": 0}}, ("values.m",)),
        ({"tombstone": False, "overflow": [], "op": None}, ()),
        ({"tombstone": True, "op": "retract"}, ("tombstone", "op")),
        ({"key": ["b"], "window_id": 0}, ("key",)),
    ],
)
def test_members_that_differ_are_named(wanted: dict[str, Any], differing: tuple[str, ...]) -> None:
    (part,) = matched({"q": expected(wanted)}, Found({"q": [row(0)]}, [], {}))
    (pair,) = part.pairs
    assert pair.differing == differing
    assert part.ok == (not differing)


def test_a_missing_line_makes_those_behind_it_no_others() -> None:
    found = Found({"q": [row(0), row(2), row(3, n=7)]}, [], {})
    wanted = expected({"window_id": 0}, {"window_id": 1}, {"window_id": 2}, {"window_id": 3})
    (part,) = matched({"q": wanted}, found)
    assert [pair.ok for pair in part.pairs] == [True, False, True, True]
    assert part.missing
    assert part.pairs[1].actual is None


def test_a_number_is_no_truth_and_three_is_three() -> None:
    assert is_same(3, 3.0)
    assert not is_same(1, True)
    assert not is_same(0, False)
    assert not is_same("9.00", 9)
    assert is_same([1, [None]], [1.0, [None]])
    assert not is_same([1], [1, 1])


LINES = st.lists(
    st.fixed_dictionaries({"window_id": st.integers(0, 2), "revision": st.integers(0, 1)}),
    max_size=6,
)


@given(LINES, LINES)
def test_lines_keep_their_order_and_none_is_lost(
    wanted: list[dict[str, int]], there: list[dict[str, int]]
) -> None:
    pairs = paired(wanted, there)
    assert [pair.expected for pair in pairs if pair.expected is not None] == wanted
    assert [pair.actual for pair in pairs if pair.actual is not None] == there
    assert all(pair.ok for pair in pairs) == (wanted == there)
    for pair in pairs:
        if pair.expected is not None and pair.actual is not None:
            names = [name for name in pair.expected if pair.expected[name] != pair.actual[name]]
            assert list(pair.differing) == names


def test_people_see_both_sides_and_a_mark_where_they_differ() -> None:
    letters = [ExpectedLetter.model_validate({"offset": 3, "reason": "late"})]
    found = Found({"q": [row(0), row(1, n=2)]}, [], {"filtered": 1})
    wanted = expected({"window_id": 0}, {"window_id": 1, "values": {"n": 3}})
    parts = matched({"q": wanted, "dead_letters": letters, "filtered": 0}, found)
    assert list(lines_of(parts)) == [
        "q: 2 expected, 2 found, 1 as expected",
        "                expected  actual",
        "   line 2",
        "     window_id  1         1",
        "!    values.n   3         2",
        "dead_letters: 1 expected, 0 found, 0 as expected",
        "             expected  actual",
        "   line 1              missing",
        "!    offset  3         -",
        '!    reason  "late"    -',
        "filtered: 0 expected, 1 found",
    ]
