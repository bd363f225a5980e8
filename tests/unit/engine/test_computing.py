"""What a source computes: engine and definition, one by one, by column, and of the whole log."""

import json
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.readers.envelope import read_line
from chaos.readers.log import LogRecord
from jobs.tools.recording import event_line
from windowing.engine.reading.batches import batches, raw_rows
from windowing.engine.reading.objects import BadValue
from windowing.engine.reading.pack import pack, read_record, refusal_of
from windowing.engine.reading.rules import ValueRules
from windowing.model import Pipeline, parse_pipeline
from windowing.model.metadata import Metadata
from windowing.model.rows import row_line
from windowing.runtime.local import LocalEngine
from windowing.semantics import evaluate

TEXT = """
name: pay
source:
  topics: {zoo: 2, ant: 1}
  format: json
  event_time: {field: ts, unit: us}
  fields: {id: "string?", v: "int?", q: "int?"}
  disorder: {slack: 20 us}
  rules: [{name: first, check: "v div q < 9 OR v IS NULL", on_fail: RULE}]
  derive: {day: "coalesce(substr(id, v, 1), $key)", net: "CASE WHEN q <> 0 THEN v div q END"}
  WHERE
queries:
  w:
    window: RANGE 40 us SLIDE 20 us WATTR ts
    group_by: [day, $topic]
    aggregates:
      r: max(v / q)
      s: sum(net) where q > 1
      h: last($headers.a)
      o: collect($offset)
      p: min($partition)
      t: max($timestamp)
      f: first(net)
      e: any(v > 3) where q > 1
      a: all(id = 'a') where v / q < 2
"""
TIMED = "WATTR event_time"
TIMES = (
    *("{field: ts, unit: us}", '{expr: "$timestamp"}'),
    '{expr: "ts div q * 10", unit: us, max: "1970-01-02"}',
)
LANES = (("zoo", 0), ("zoo", 1), ("ant", 0))

NUMBERS = st.one_of(st.none(), st.integers(-2, 12), st.just(2**63 - 1))
VALUES = st.fixed_dictionaries(
    {"ts": st.integers(0, 90)},
    optional={"id": st.sampled_from([None, "", "a", "ab"]), "v": NUMBERS, "q": NUMBERS},
)
METADATA = st.builds(
    Metadata,
    key=st.sampled_from([None, b"", b"k", b"\xff", "é".encode()]),
    timestamp_us=st.one_of(st.none(), st.integers(0, 9)),
    headers=st.sampled_from([(), (("a", b"1"), ("a", b"2")), (("a", b"\xff"), ("b", b"x"))]),
)
RECORDS = st.lists(
    st.tuples(st.sampled_from(LANES), VALUES | st.just({"v": 1}), METADATA), max_size=30
)


def log_of(records: list) -> list[LogRecord]:
    ends = dict.fromkeys(LANES, 0)
    log = []
    for lane, value, metadata in records:
        ends[lane] += 1
        text = json.dumps(value).encode()
        log.append(LogRecord(*lane, ends[lane], text, None, None, metadata))
    return log


@cache
def pipeline_of(rule: str, where: str, time: str = "{field: ts, unit: us}") -> Pipeline:
    text = TEXT.replace("RULE", rule).replace("  WHERE\n", where and f'  where: "{where}"\n')
    if "expr" in time:
        text = text.replace("fields: {", "fields: {ts: int, ").replace(
            "WATTR ts", "WATTR event_time"
        )
    return parse_pipeline(text.replace("{field: ts, unit: us}", time))


def agree(pipeline: Pipeline, log: list[LogRecord], rows: int, *, fused: bool) -> None:
    defined, engine = evaluate(pipeline, log), LocalEngine(pipeline, fused=fused)
    for batch in batches(log, rows, pipeline):
        engine.feed(batch)
    assert engine.output.counts == (defined.counts if log else {})
    assert sorted(map(repr, engine.output.dead_letters)) == sorted(map(repr, defined.dead))
    assert sorted(map(row_line, engine.output.rows)) == sorted(map(row_line, defined.rows))


@settings(max_examples=40, deadline=None)
@given(
    records=RECORDS,
    rule=st.sampled_from(["warn", "dead_letter"]),
    where=st.sampled_from(["", "q <> 3", "$key IS NOT NULL AND net > 0"]),
    time=st.sampled_from(TIMES),
    run=st.tuples(st.sampled_from([4, 1000]), st.booleans()),
)
def test_engine_and_definition_agree(
    records: list, rule: str, where: str, time: str, run: tuple[int, bool]
) -> None:
    agree(pipeline_of(rule, where, time), log_of(records), run[0], fused=run[1])


@settings(max_examples=15, deadline=None)
@given(records=RECORDS)
def test_many_at_once_are_as_one_by_one(records: list) -> None:
    pipeline = pipeline_of("dead_letter", "q <> 3")
    rules, log = ValueRules.of(pipeline, 0), log_of([(LANES[0], *rest) for _, *rest in records])
    whole = pack(raw_rows(log, pipeline.source), rules)
    single = [pack(raw_rows([one], pipeline.source), rules) for one in log]
    assert whole.rows() == [row for one in single for row in one.rows()]


@settings(max_examples=10, deadline=None)
@given(records=RECORDS)
def test_lines_have_what_records_have(records: list) -> None:
    """But for bytes that are no text, of which they are null."""
    for entry in log_of(records):
        read = LogRecord(*read_line(event_line(entry)))
        pipeline = pipeline_of("warn", "")
        lane = pipeline.source.number(entry.source, entry.partition)
        assert lane is not None
        rules = ValueRules.of(pipeline, lane)
        one, other = (pack(raw_rows([each], pipeline.source), rules) for each in (entry, read))
        assert one.rows() == other.rows()


def one(value: dict, key: bytes | None = b"k") -> list[LogRecord]:
    return log_of([(LANES[0], {"ts": 1, **value}, Metadata(key))])


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        (
            {"v": 3, "q": 0},
            ("first", "v div q < 9 OR v IS NULL has a value; here: division by zero"),
        ),
        (
            {"v": 0, "q": 1, "id": "a"},
            (
                "day",
                "coalesce(substr(id, v, 1), $key) has a value; here: substr from below 1, or of a "
                "length below 0",
            ),
        ),
        ({"v": 18, "q": 2}, (None, "v div q < 9 OR v IS NULL")),
        ({"v": None, "q": 0}, None),
    ],
)
def test_a_dead_letter_names_what_has_no_value(value: dict, detail: tuple | None) -> None:
    pipeline = pipeline_of("dead_letter", "q <> 3")
    rows, rules = raw_rows(one(value), pipeline.source), ValueRules.of(pipeline, 0)
    if detail is None:
        assert read_record(rows, rules)[1]["day"] == "k"
        return
    with pytest.raises(BadValue):
        read_record(rows, rules)
    found = refusal_of(rows, rules)
    assert (found.field, found.rule) == detail
    assert json.loads(found.value or "") == {"ts": 1, **value}


def test_filtered_records_move_progress_and_broken_rules_do_not() -> None:
    """A window up to 40 closes by a record at 60, unless that is a dead letter."""
    pipeline = pipeline_of("dead_letter", "q <> 3")

    def windows(last: dict) -> int:
        values = [{"ts": 1, "v": 1, "q": 1}, {"ts": 80, **last}]
        log = [
            LogRecord(topic, partition, at, json.dumps(value).encode(), None, None)
            for topic, partition in LANES
            for at, value in enumerate(values)
        ]
        agree(pipeline, log, 2, fused=False)
        return len(evaluate(pipeline, log).rows)

    assert windows({"v": 1, "q": 3}) > 0
    assert windows({"v": 18, "q": 2}) == windows({"v": 1, "q": 0}) == 0


def test_warnings_are_counted_beside_the_sum() -> None:
    pipeline = pipeline_of("warn", "q <> 3")
    log = log_of([(LANES[0], {"ts": at, "v": 18, "q": at + 1}, Metadata(b"k")) for at in range(4)])
    counts = evaluate(pipeline, log).counts["w"]
    assert str(counts) == (
        "read 4 = applied 3 + outside 0 + filtered 1 + duplicates 0 + dropped 0 + dead 0, "
        "warned:first 2"
    )
    assert counts.total == counts.read
