"""Duplicates: engine and definition agree, whatever the batches; and what a lane remembers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.readers.log import LogRecord
from windowing.engine.columns import TIME, field_column
from windowing.engine.duplicates import KEPT, DuplicateRule
from windowing.engine.reading.pack import RawRows
from windowing.engine.storage.frames import from_bytes
from windowing.engine.wids import ENDED, NOTHING_YET
from windowing.model import Pipeline, parse_pipeline
from windowing.model.duplicates import Duplicates
from windowing.model.rows import dead_letter_order, row_line
from windowing.runtime.local import LocalEngine
from windowing.semantics import evaluate
from windowing.semantics.duplicates import KeptRecords

TEXT = """
name: retries
source:
  topic: s
  partitions: 1
  format: json
  event_time: {field: ts, unit: us}
  fields: {id: "string?", n: "int?", at: int}
  disorder: {slack: 4 us}
  disorder_of: {at: {slack: 3}}
  duplicates: {by: [id], within: 5 us}
queries:
  q: {window: RANGE 8 us SLIDE 4 us WATTR ts, group_by: [id], aggregates: {n: count}}
  at: {window: RANGE 8 SLIDE 8 WATTR at, aggregates: {n: count}}
  rows: {window: RANGE 3 rows SLIDE 1 row WATTR row_num, aggregates: {n: count, low: min(at)}}
"""


def value(ts: int, identity: str | None = "a", **more: Any) -> dict[str, Any]:
    return {"value": {"ts": ts, "id": identity, "at": ts, **more}}


def entry(offset: int, content: dict[str, Any]) -> LogRecord:
    if "control" in content:
        return LogRecord("s", 0, offset, None, json.dumps(content["control"]).encode(), None)
    raw = content.get("raw") or json.dumps(content["value"])
    return LogRecord("s", 0, offset, raw.encode(), None, None)


def log_of(contents: Sequence[dict[str, Any]]) -> list[LogRecord]:
    return [entry(offset, content) for offset, content in enumerate(contents)]


def fed(pipeline: Pipeline, log: Sequence[LogRecord], size: int) -> LocalEngine:
    engine = LocalEngine(pipeline)
    for first in range(0, len(log), size):
        part = log[first : first + size]
        columns = zip(*((e.offset, e.value, e.control, e.append_us) for e in part), strict=True)
        engine.feed({0: RawRows(*map(list, columns))})
    return engine


def test_the_equation_has_both_terms() -> None:
    counts = evaluate(parse_pipeline(TEXT), log_of([value(20), value(21)])).counts
    sums = "read 2 = applied 1 + outside 0 + filtered 0 + duplicates 1 + dropped 0 + dead 0"
    assert str(counts["q"]) == sums


contents = st.one_of(
    st.builds(
        value,
        st.integers(0, 40),
        st.sampled_from(["a", "a", "b", None]),
        n=st.sampled_from([1, 1, 2, None]),
    ),
    st.builds(lambda us: {"control": {"bound": us}}, st.integers(0, 40)),
    st.just({"raw": "{"}),
)


@settings(max_examples=60)
@given(
    st.lists(contents, min_size=1, max_size=24),
    st.sampled_from(["[id]", "[id, n]", "[at]"]),
    st.sampled_from(["{slack: 4 us}", "ordered", "{slack: 2 rows}", "punctuation"]),
    st.integers(1, 9),
    st.integers(1, 8),
)
def test_engine_and_definition_agree(
    contents: list[dict[str, Any]], by: str, disorder: str, within: int, size: int
) -> None:
    text = TEXT.replace("[id], within: 5", f"{by}, within: {within}")
    pipeline = parse_pipeline(text.replace("disorder: {slack: 4 us}", f"disorder: {disorder}"))
    log = log_of(contents)
    engine, defined = fed(pipeline, log, size), evaluate(pipeline, log)
    assert engine.output.counts == defined.counts
    assert sorted(map(row_line, engine.output.rows)) == sorted(map(row_line, defined.rows))
    assert sorted(engine.output.dead_letters, key=dead_letter_order) == defined.dead


@given(
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from("ab"), st.integers(0, 9)), max_size=20),
    st.integers(1, 6),
    st.integers(0, 20),
)
def test_what_is_forgotten_is_never_needed(
    records: list[tuple[int, str, int]], within: int, cut: int
) -> None:
    """A definition that forgets at a cut, and one that never does, find the same."""
    rule = Duplicates(by=("id",), within=f"{within} us")
    whole, tidied, progress = KeptRecords(rule), KeptRecords(rule), 0
    for offset, (ts, identity, step) in enumerate(records):
        if offset == cut:
            tidied.go_on(json.loads(json.dumps(tidied.state(progress))))
        fields = {"id": identity}
        found = [one.original(ts, fields, offset, progress) for one in (whole, tidied)]
        assert (found[0] is None) == (found[1] is None)
        progress += step


def test_a_lane_forgets_what_no_duplicate_can_have() -> None:
    rule = DuplicateRule(Duplicates(by=("id",), within="5 us"))
    kept = pl.DataFrame({field_column("id"): ["a", "b", "c"], TIME: [20, 21, 22]})
    assert rule.needed(kept, 31)[TIME].to_list() == [22]
    assert rule.needed(kept, NOTHING_YET).height == 3
    assert rule.needed(kept, ENDED).is_empty()
    engine = fed(parse_pipeline(TEXT), log_of([value(ts, str(ts)) for ts in range(20, 60)]), 7)
    (stored,) = [store.get(KEPT) for _, store in engine._lanes]
    assert stored is not None
    assert from_bytes(stored)[TIME].min() == 46, "progress is 55, and 2 within are 10"


def test_many_of_one_identity_are_judged_in_order() -> None:
    rule = DuplicateRule(Duplicates(by=("id",), within="10 us"))
    times = [*range(0, 3_000, 3)]
    records = pl.DataFrame({field_column("id"): ["a"] * len(times), TIME: times})
    progress = np.full(len(times), NOTHING_YET)
    found, kept = rule.found(records, progress, np.ones(len(times), bool), None)
    assert kept[TIME].to_list() == [*range(0, 3_000, 12)]
    assert (~found).sum() == len(kept)
