"""Two outputs window by window: same, changed, added, gone."""

from __future__ import annotations

from chaos.readers.output import Identity, row_identity
from chaos.verdict.contrast import Change, contrast, instant
from windowing.model.rows import Row, row_line

S = 1_000_000
NAMES = ("old", "new")


def line(
    wid: int, revision: int = 0, *, n: int = 1, key: str = "a", origin_us: int = 0
) -> tuple[Identity, str]:
    row = Row(
        query="q",
        window_id=wid,
        window_start_us=origin_us + wid * S,
        window_end_us=origin_us + (wid + 1) * S,
        key=(key,),
        pane="late" if revision else "full",
        revision=revision,
        records=n,
        offsets={"t/0": (0, n)},
        values={"n": n},
    )
    return row_identity(row), row_line(row)


def test_every_window_becomes_one_of_four() -> None:
    old = [line(0), line(1), line(1, 1, n=2), line(2)]
    new = [line(3), line(1, 1, n=3), line(1), line(0)]
    found = contrast(old, new, names=NAMES)
    assert [pair.change for pair in found.pairs] == ["same", "changed", "gone", "added"]
    assert found.counts[Change.changed] == 1
    assert found.summary() == "3 of 4 windows differ: 1 changed, 1 added, 1 gone"


def test_of_a_changed_window_is_shown_what_changed() -> None:
    found = contrast([line(1), line(1, 1, n=2)], [line(1)], names=NAMES)
    (pair,) = found.differing
    offsets = {"t/0": [0, 2]}, {"t/0": [0, 1]}
    assert pair.differing == [
        ("revisions", 2, 1),
        ("records", 2, 1),
        ("n", 2, 1),
        ("offsets", *offsets),
    ]


def test_an_earlier_revision_counts_although_the_last_is_the_same() -> None:
    old, new = [line(1, n=1), line(1, 1, n=3)], [line(1, n=2), line(1, 1, n=3)]
    (pair,) = contrast(old, new, names=NAMES).differing
    assert pair.differing == []


def test_a_row_twice_is_a_change() -> None:
    assert contrast([line(1)], [line(1), line(1)], names=NAMES).differing


def test_windows_are_matched_by_extent_and_key() -> None:
    shifted = line(0, origin_us=S)
    (pair,) = contrast([line(1)], [shifted], names=NAMES).differing
    assert pair.differing == [("window_id", 1, 0)]
    apart = contrast([line(1)], [line(1, key="b")], names=NAMES)
    assert {pair.change for pair in apart.pairs} == {Change.gone, Change.added}


def test_data_holds_every_difference_with_its_lines() -> None:
    data = contrast([line(0), line(1)], [line(0)], names=NAMES).as_data()
    assert data["counts"] == {"same": 1, "changed": 0, "added": 0, "gone": 1}
    (gone,) = data["differing"]
    assert (gone["window"], gone["key"], gone["after"]) == ([S, 2 * S], ["a"], [])
    assert gone["before"][0]["values"] == {"n": 1}


def test_instants_in_words() -> None:
    assert instant(0) == "1970-01-01 00:00"
    assert instant(S + 1) == "1970-01-01 00:00:01.000001"
    assert instant(2**62) == f"{2**62} µs"
