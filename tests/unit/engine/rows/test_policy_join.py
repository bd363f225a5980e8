"""SPL's Join in pipelines: each rule by hand."""

from __future__ import annotations

import pytest

from tests.strategies import Event, entry
from tests.unit.engine.test_engine import agreed
from windowing.model import parse_pipeline
from windowing.model.errors import PipelineError
from windowing.model.operators.join import PolicyJoinQuery

JOIN = """
name: j
join:
  operator: join
  left:
    source: {{topic: l, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
      fields: {{k: "string?", v: int}}, disorder: {{slack: 0 s}}}}
    window: {left}
  right:
    source: {{topic: r, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
      fields: {{k: "string?", w: int}}, disorder: {{slack: 0 s}}}}
    window: {right}
  kind: {kind}
  equal: {equal}
  where: {where}
  select: {{v: left.v, w: right.w}}
late: {{policy: drop}}
shards: 2
"""

Records = list[tuple[int, str | None]]


def joined(
    left: str, right: str, lefts: Records, rights: Records, *, ends: bool = True, **more: str
) -> set[tuple[int | None, int | None]]:
    """What a join shows by definition and engine alike; `v` and `w` of a record are its time."""
    asked = {"kind": "inner", "equal": "[]", "where": "[]", **more}
    spec = parse_pipeline(JOIN.format(left=left, right=right, **asked))
    events: list[Event] = []
    for topic, field, records in (("l", "v", lefts), ("r", "w", rights)):
        contents: list[Event] = [{"value": {"ts": ts, "k": k, field: ts}} for ts, k in records]
        contents += [{"control": {"end": True}}] if ends else []
        for offset, content in enumerate(contents):
            events.append({"source": topic, "partition": 0, "offset": offset, **content})
    log = list(map(entry, events))
    return {(row.values["v"], row.values["w"]) for row in agreed(spec, log)}  # type: ignore[misc]


def test_a_record_probes_what_the_opposite_window_holds() -> None:
    """As in Figure 2: count(2) holds the last two; no record is found that came later."""
    found = joined(
        "SLIDING count(2)", "SLIDING count(0)", [(1, "a"), (2, "a"), (3, "a"), (5, "a")], [(4, "a")]
    )
    assert found == {(2, 4), (3, 4)}


def test_probing_evicts_nothing_from_the_opposite_window() -> None:
    found = joined("SLIDING count(1)", "SLIDING count(1)", [(1, "a")], [(2, "a"), (3, "a")])
    assert found == {(1, 2), (1, 3)}


def test_own_evictions_precede_the_probe() -> None:
    """Left 1 leaves its window as 2 comes, unmatched, although 2 then finds right 0 (D10)."""
    lefts, rights = [(1, "a"), (2, "b")], [(0, "b")]
    found = joined("SLIDING count(1)", "SLIDING count(1)", lefts, rights, kind="left", equal="[k]")
    assert found == {(1, None), (2, 0)}


def test_time_holds_a_record_through_its_length_and_evicts_it_just_after() -> None:
    found = joined(
        "SLIDING time(5 us)", "SLIDING count(0)", [(1, "a"), (2, "a")], [(6, "a"), (7, "a")]
    )
    assert found == {(1, 6), (2, 6), (2, 7)}


def test_delta_evicts_what_a_new_record_of_its_own_side_exceeds() -> None:
    """Left 4 exceeds 1 by three, more than two; 2 only by two."""
    found = joined(
        "SLIDING delta(v, 2)", "SLIDING count(0)", [(1, "a"), (2, "a"), (4, "a")], [(5, "a")]
    )
    assert found == {(2, 5), (4, 5)}
    by_time = joined(
        "SLIDING delta(ts, 2 us)", "SLIDING count(0)", [(1, "a"), (2, "a"), (4, "a")], [(5, "a")]
    )
    assert by_time == found


def test_equal_instants_go_by_topic() -> None:
    """Topic l comes before r: left 3 is stored when right 3 probes, and finds nothing itself."""
    assert joined("SLIDING count(1)", "SLIDING count(0)", [(3, "a")], [(3, "a")]) == {(3, 3)}
    assert joined("SLIDING count(0)", "SLIDING count(1)", [(3, "a")], [(3, "a")]) == set()


def test_a_partition_probes_the_opposite_one_of_its_key() -> None:
    """Each carrier has a window of one; with one side partitioned, all partitions are probed."""
    lefts: Records = [(1, "a"), (2, "b"), (3, "a")]
    by_key = "SLIDING count(1) PARTITIONED BY k"
    assert joined(by_key, by_key, lefts, [(4, "a")]) == {(3, 4)}
    assert joined(by_key, "SLIDING count(1)", lefts, [(4, "a")]) == {(2, 4), (3, 4)}


def test_null_is_a_partition_and_equals_nothing() -> None:
    by_key = "SLIDING count(1) PARTITIONED BY k"
    assert joined(by_key, by_key, [(1, None)], [(2, None)]) == {(1, 2)}
    assert joined(by_key, by_key, [(1, None)], [(2, None)], equal="[k]") == set()


@pytest.mark.parametrize(
    ("kind", "alone"),
    [
        ("inner", set()),
        ("left", {(1, None)}),
        ("right", {(None, 2)}),
        ("full", {(1, None), (None, 2)}),
    ],
)
def test_outer_sides_send_what_leaves_unmatched(
    kind: str, alone: set[tuple[int | None, int | None]]
) -> None:
    """Left 1 and right 2 never match; 3 and 4 push them out, and match each other."""
    lefts: Records = [(1, "a"), (3, "c")]
    found = joined(
        "SLIDING count(1)",
        "SLIDING count(1)",
        lefts,
        [(2, "b"), (4, "c")],
        kind=kind,
        equal="[k]",
    )
    assert found == {(3, 4), *alone}


def test_a_window_of_count_0_sends_an_unmatched_record_at_once() -> None:
    found = joined("SLIDING count(0)", "SLIDING count(1)", [(1, "a")], [(2, "a")], kind="left")
    assert found == {(1, None)}


def test_nothing_is_flushed_at_the_end() -> None:
    """Left 1 is still stored; at the end the clock shows 2, and time(1) holds 1 through 2."""
    for window in ("SLIDING count(1)", "SLIDING time(1 us)"):
        assert joined(window, "SLIDING count(0)", [(1, "a")], [(2, "b")], kind="left") == {(1, 2)}
    lefts: Records = [(1, "a")]
    assert joined("SLIDING time(1 us)", "SLIDING count(0)", lefts, [(3, "b")], kind="left") == {
        (1, None)
    }


def test_a_lone_record_waits_until_progress_has_passed_its_eviction() -> None:
    """Progress is the lower of 1 and 4: left 1 has not even arrived. With (9, 9) it has left."""
    window, lefts = "SLIDING time(2 us)", [(1, "a")]
    assert joined(window, window, lefts, [(4, "b")], ends=False, kind="left") == set()
    later: Records = [(1, "a"), (9, "a")]
    assert joined(window, window, later, [(9, "b")], ends=False, kind="left") == {(1, None)}


def test_what_is_lost_to_partition_eviction_is_never_sent_alone() -> None:
    """Of one partition, b evicts a; c then evicts b's record by count in nothing."""
    evicting = "SLIDING count(1) PARTITIONED BY k EVICT partition_count(1)"
    lefts: Records = [(1, "a"), (2, "b"), (3, "b")]
    found = joined(evicting, "SLIDING count(0)", lefts, [(4, "z")], kind="left")
    assert found == {(2, None), (3, 4)}


def test_a_record_whose_partition_it_evicts_itself_does_not_probe() -> None:
    """The least frequently used partition is its own: its insert removes it (D14)."""
    evicting = "SLIDING count(9) PARTITIONED BY k EVICT partition_count(1) BY lfu"
    lefts: Records = [(1, "a"), (2, "a"), (4, "b")]
    assert joined(evicting, "SLIDING count(9)", lefts, [(3, "z")]) == {(1, 3), (2, 3)}


def test_a_late_record_takes_no_part() -> None:
    assert joined("SLIDING count(9)", "SLIDING count(9)", [(5, "a"), (3, "a")], [(6, "a")]) == {
        (5, 6)
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  operator: join\n", "", "policy window: add operator: join"),
        ("SLIDING count(1) PARTITIONED BY k", "5 s", "join.left.window: .*needs a policy window"),
        ("SLIDING count(1)", "TUMBLING count(1)", "join.left.window: .*sliding windows"),
        ("count(1) PART", "count(1), count(2) PART", "join.left.window: .*trigger"),
        ("count(1) PART", "delta(k, 1) PART", "join.left.window: E_ATTR_TYPE"),
        ("BY k", "BY z", "join.left.window: E_ATTR_UNKNOWN"),
        ("BY k", "BY k, v", "as many fields left as right"),
        ("BY k", "BY v", "v is int, k is string"),
        ("policy: drop", "policy: update, every: 1 s", "late: .*takes no late records"),
        ("shards: 2", "retention: 5 s", "retention: .*say themselves what they keep"),
    ],
)
def test_mistakes_are_named(old: str, new: str, message: str) -> None:
    by_key = "SLIDING count(1) PARTITIONED BY k"
    text = JOIN.format(left=by_key, right=by_key, kind="inner", equal="[]", where="[]")
    assert parse_pipeline(text).fingerprint
    assert old in text
    with pytest.raises(PipelineError, match=message):
        parse_pipeline(text.replace(old, new, 1))


def test_the_unit_is_the_partition_unless_a_window_looks_at_all_of_them() -> None:
    by_key = "SLIDING count(1) PARTITIONED BY k"
    evicting = f"{by_key} EVICT partition_age(1 s)"
    for right, unit in ((by_key, {"k": "k"}), (evicting, {}), ("SLIDING count(1)", {})):
        query = _query(left=by_key, right=right)
        assert query.sharded_by == unit
    assert _query(left=by_key, right=by_key).key[0] == "k"
    assert _query(left=by_key, right="SLIDING count(1)").key[0] == "left"


def _query(left: str, right: str) -> PolicyJoinQuery:
    text = JOIN.format(left=left, right=right, kind="inner", equal="[]", where="[]")
    query = parse_pipeline(text).flows[0]
    assert isinstance(query, PolicyJoinQuery)
    return query
