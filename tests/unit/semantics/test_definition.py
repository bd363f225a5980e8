"""The definition on the cases of the contract, and its laws on random ones."""

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.readers.log import LogRecord, read_events
from tests.strategies import Case, Entry, cases, entry, interleavings
from windowing.model import load_pipeline, parse_pipeline
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.semantics import BadLogError, Outcome, evaluate

DATA = Path(__file__).parents[2] / "data" / "pipelines"
CASES = sorted(folder for folder in DATA.iterdir() if folder.is_dir())


def files(outcome: Outcome) -> tuple[str, str]:
    return (
        "".join(line + "\n" for line in row_lines(outcome.rows)),
        "".join(line + "\n" for line in dead_letter_lines(outcome.dead)),
    )


def shuffled(log: list[LogRecord], seed: int) -> list[LogRecord]:
    """Another order of arrival with the same order in each lane."""
    turns = [record.partition for record in log]
    random.Random(seed).shuffle(turns)
    lanes = {p: iter([r for r in log if r.partition == p]) for p in set(turns)}
    return [next(lanes[partition]) for partition in turns]


@pytest.mark.parametrize("seed", [None, 0, 1, 2, 3, 4])
@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_the_cases_of_the_contract_byte_for_byte(folder: Path, seed: int | None) -> None:
    log = list(read_events(folder / "events.jsonl"))
    if seed is not None:
        log = shuffled(log, seed)
    rows, dead = files(evaluate(load_pipeline(folder / "pipeline.yml"), log))
    assert rows.encode() == (folder / "out.jsonl").read_bytes()
    assert dead.encode() == (folder / "out.dead.jsonl").read_bytes()


def test_there_are_cases() -> None:
    assert len(CASES) == 18


@given(case=cases(), data=st.data())
def test_the_order_between_lanes_means_nothing(case: Case, data: st.DataObject) -> None:
    pipeline = parse_pipeline(case.pipeline)
    first = evaluate(pipeline, map(entry, case.events))
    other = evaluate(pipeline, map(entry, data.draw(interleavings(case.lanes))))
    assert first == other


@given(case=cases())
def test_records_are_conserved(case: Case) -> None:
    outcome = evaluate(parse_pipeline(case.pipeline), map(entry, case.events))
    controls = {(e["source"], e["partition"], e["offset"]) for e in case.events if "control" in e}
    refused = sum((one.source, one.partition, one.offset) in controls for one in outcome.dead)
    for name, counts in outcome.counts.items():
        assert counts.read == sum("control" not in event for event in case.events) + refused
        assert counts.read == counts.total
        assert counts["dead"] == sum(letter.query in {None, name} for letter in outcome.dead)


@given(case=cases(), data=st.data())
def test_more_log_adds_rows_and_changes_none(case: Case, data: st.DataObject) -> None:
    """What was sent stays true: a prefix of the log has a subset of the rows."""
    pipeline = parse_pipeline(case.pipeline)
    events = data.draw(interleavings(case.lanes))
    cut = data.draw(st.integers(0, len(events)))
    early = evaluate(pipeline, map(entry, events[:cut]))
    whole = evaluate(pipeline, map(entry, events))
    assert set(row_lines(early.rows)) <= set(row_lines(whole.rows))
    assert set(early.dead) <= set(whole.dead)


@given(case=cases())
def test_revisions_have_no_holes_and_only_grow(case: Case) -> None:
    outcome = evaluate(parse_pipeline(case.pipeline), map(entry, case.events))
    last = {}
    for row in outcome.rows:
        window = (row.query, row.window_id, row.key)
        assert (row.pane == "full") == (row.revision == 0)
        revision, records = last.get(window, (row.revision - 1, 0))
        assert row.revision == revision + 1
        assert row.revision <= 1 or window in last
        assert row.records > records
        last[window] = (row.revision, row.records)


@given(case=cases(bad_values=False), shift=st.integers(-3, 3))
def test_offsets_are_names_and_no_amounts(case: Case, shift: int) -> None:
    """Offsets may have holes: other offsets in the same order give the same windows."""
    pipeline = parse_pipeline(case.pipeline)
    log = [entry(event) for event in case.events]
    moved = [replace(record, offset=record.offset * 7 + shift + 3) for record in log]
    before, after = evaluate(pipeline, log), evaluate(pipeline, moved)
    assert [replace(row, offsets={}) for row in before.rows] == [
        replace(row, offsets={}) for row in after.rows
    ]


PIPELINE = """
name: p
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {v: int}
  disorder: ordered
queries:
  w:
    window: RANGE 10 us SLIDE 10 us WATTR ts
    aggregates: {n: count, v: sum(v)}
"""


def record(partition: int, offset: int, ts: int, v: int = 1) -> Entry:
    return Entry("s", partition, offset, f'{{"ts":{ts},"v":{v}}}'.encode(), None, None)


def control(partition: int, offset: int, text: str) -> Entry:
    return Entry("s", partition, offset, None, text.encode(), None)


END = '{"end":true}'


def test_progress_of_lanes() -> None:
    log = [record(0, 0, 7), control(0, 1, '{"bound":5}'), control(1, 9, END)]
    assert evaluate(parse_pipeline(PIPELINE), log).progress == {"s/0": 7, "s/1": math.inf}
    assert evaluate(parse_pipeline(PIPELINE), []).progress == {"s/0": None, "s/1": None}


def test_controls_of_other_generators_are_ignored_and_those_after_the_end_change_nothing() -> None:
    log = [
        record(0, 0, 3),
        control(0, 1, '{"bound":99,"on":{"k":1}}'),
        control(0, 2, '{"now":99,"seen":{"s/1":9}}'),
        control(0, 3, END),
        control(0, 4, '{"bound":1}'),
        record(0, 5, 4),
        control(1, 0, '{"bound":9}'),
    ]
    outcome = evaluate(parse_pipeline(PIPELINE), log)
    assert outcome.progress == {"s/0": math.inf, "s/1": 9}
    assert not outcome.rows
    assert [(letter.offset, letter.reason) for letter in outcome.dead] == [(5, "after_end")]


def test_a_row_exists_iff_its_instant_has_come() -> None:
    for bound, rows in ((9, 0), (10, 1)):
        log = [
            record(0, 0, 9),
            control(0, 1, '{"bound":10}'),
            control(1, 0, f'{{"bound":{bound}}}'),
        ]
        assert len(evaluate(parse_pipeline(PIPELINE), log).rows) == rows


@pytest.mark.parametrize(
    ("log", "rule"),
    [
        ([record(2, 0, 1)], "does not declare|no such lane"),
        ([replace(record(0, 0, 1), source="t")], "does not declare|no such lane"),
        ([record(0, 5, 1), record(0, 3, 1)], "must come in offset order"),
        ([record(0, 5, 1), record(0, 5, 2)], "different contents"),
    ],
)
def test_what_is_no_log_of_the_pipeline(log: list[Entry], rule: str) -> None:
    with pytest.raises(BadLogError, match=rule):
        evaluate(parse_pipeline(PIPELINE), log)


def test_a_redelivery_counts_once() -> None:
    log = [record(0, 0, 1), record(0, 2, 2), record(0, 0, 1), record(0, 2, 2)]
    assert evaluate(parse_pipeline(PIPELINE), log).counts["w"].read == 2


def test_a_dense_source_has_no_holes() -> None:
    dense = parse_pipeline(
        PIPELINE.replace("disorder: ordered", "disorder: ordered\n  dense: true")
    )
    assert evaluate(dense, [record(0, 4, 1), record(0, 5, 1)]).counts["w"].read == 2
    with pytest.raises(BadLogError, match="offset 5 is missing"):
        evaluate(dense, [record(0, 4, 1), record(0, 6, 1)])


def test_an_int_sum_beyond_64_bits_is_null_in_its_row_alone() -> None:
    log = [record(0, 0, 1, 2**63 - 1), record(0, 1, 2, 1), record(0, 2, 11, 4)]
    rows = evaluate(parse_pipeline(PIPELINE), [*log, control(0, 3, END), control(1, 0, END)]).rows
    shown = {row.window_id: (row.values["v"], row.overflow) for row in rows}
    assert shown == {0: (None, ("v",)), 1: (4, ())}


@pytest.mark.parametrize(("progress", "seen"), [(10, 12), (12, 14), (15, 19)])
def test_a_late_record_waits_for_its_epoch(progress: int, seen: int) -> None:
    """No case of the contract ends while a late record still waits: here P stops just short."""
    update = "disorder: ordered\nlate: {policy: update, every: 5 us}\nretention: 1 s"
    pipeline = parse_pipeline(PIPELINE.replace("disorder: ordered", update))
    release = (progress // 5 + 1) * 5
    assert seen < release
    for final, revisions in ((seen, [0]), (release - 1, [0]), (release, [0, 1])):
        log = [
            record(0, 0, 2),
            record(0, 1, progress),
            record(0, 2, 3),
            control(0, 3, END),
            control(1, 0, f'{{"bound":{final}}}'),
        ]
        rows = evaluate(pipeline, log).rows
        assert [row.revision for row in rows if row.window_id == 0] == revisions
