"""A field may have any name: what a column is, is never guessed from what a field is called."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sampling import sampled
from tests.strategies import KINDS, Case, cases, entry, join_cases, lane_of
from tests.strategies.names import (
    PLAIN,
    STRANGE,
    TAKEN,
    attributes,
    declared,
    renamed,
    with_aggregates_called,
)
from tests.unit.engine.test_classes import check
from tests.unit.engine.test_engine import defined, lines
from tests.unit.sinks.test_table_sink import written
from windowing.engine.progress.clock import ClockId
from windowing.engine.reading.batches import batches
from windowing.model import parse_pipeline
from windowing.model.errors import PipelineError
from windowing.model.rows import row_lines
from windowing.model.run_errors import ArrivalOrder
from windowing.runtime.local import run
from windowing.semantics import evaluate
from windowing.semantics.units import ArrivalOrderError

_EXAMPLES = max(settings.default.max_examples // 6, 4) if settings.default else 4
_FIELDS = ("g", "h", "v", "w", "x")
_IN_CALLS = [name for name in (*PLAIN, *STRANGE, *TAKEN) if name == name.strip()]
"""What aggregates can name: `sum( v )` is `sum(v)`."""


@st.composite
def names(draw: st.DrawFn, *, windowed: bool) -> dict[str, str]:
    """Names for the fields of a case; those that windows name obey the window language."""
    chosen = draw(st.lists(st.sampled_from(_IN_CALLS), min_size=5, max_size=5, unique=True))
    plain = st.lists(st.sampled_from(PLAIN), min_size=4, max_size=4, unique=True)
    ts, p, g, h = draw(plain.filter(lambda four: not {*four} & {*chosen}))
    found = {**dict(zip(_FIELDS, chosen, strict=True)), "ts": ts, "p": p}
    return {**found, "g": g, "h": h} if windowed else found


def has_pattr(case: Case) -> bool:
    """Whether some window names the field `g` or `h`; YAML breaks lines wherever it likes."""
    text = " ".join(case.pipeline.split())
    return any(named in text for named in ("PATTR g", "PATTR h", "pattr: g", "pattr: h"))


@pytest.mark.parametrize("kind", sampled(KINDS, every=3))
@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_engine_equals_definition_whatever_fields_are_called(
    kind: str, data: st.DataObject
) -> None:
    case = data.draw(cases(kind=kind, wide=True, records_max=20))
    check(renamed(case, data.draw(names(windowed=has_pattr(case)))), data=data)


@pytest.mark.parametrize("kind", sampled(KINDS, every=3))
@settings(max_examples=max(_EXAMPLES // 3, 4))
@given(data=st.data())
def test_tables_hold_them(kind: str, data: st.DataObject) -> None:
    """And aggregates may be called whatever fields, keys and columns of tables are called."""
    case = data.draw(cases(kind=kind, wide=True, records_max=15, bad_values=False))
    case = renamed(case, data.draw(names(windowed=has_pattr(case))))
    called = st.sampled_from([*TAKEN, *PLAIN, *STRANGE])
    case = with_aggregates_called(
        case, data.draw(st.lists(called, min_size=6, max_size=6, unique=True))
    )
    try:
        written(parse_pipeline(case.pipeline), [entry(event) for event in case.events], 1000)
    except (ArrivalOrder, ArrivalOrderError):
        return


@settings(max_examples=_EXAMPLES * 2)
@given(data=st.data())
def test_joins_may_be_equal_in_any_field(data: st.DataObject) -> None:
    case = data.draw(join_cases())
    one, other = data.draw(
        st.lists(st.sampled_from([*STRANGE, *PLAIN]), min_size=2, max_size=2, unique=True)
    )
    document = yaml.safe_load(case.pipeline)
    called = {"l": {"g": one}, "r": {"s": other}}
    equal = {declared(one): declared(other)}
    join = document["join"]
    for side, topic in (("left", "l"), ("right", "r")):
        source = join[side]["source"]
        mapping = called[topic]
        source["fields"] = {
            declared(mapping.get(name, name)): t for name, t in source["fields"].items()
        }
        source["disorder"] = attributes(source["disorder"], mapping)
    join["equal"], join["where"] = equal, []
    join["select"] = {"v": "left.v", "w": "right.w"}
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    events = [
        {**event, "value": {called[event["source"]].get(n, n): x for n, x in value.items()}}
        if (value := event.get("value")) is not None
        else event
        for event in case.events
    ]
    try:
        pipeline = parse_pipeline(text)
    except PipelineError as error:
        assert one in ("left", "right", "left.v", "right.w"), error  # noqa: PT017
        return
    log = [entry(event) for event in events]
    found = lines(run(pipeline, batches(log, 5, pipeline)))
    assert found == defined(pipeline, type(case)(text, (tuple(events),)))


PIPELINE = """
name: p
source:
  topic: s
  partitions: 1
  format: json
  event_time: {field: ts, unit: us}
  disorder: ordered
  fields: FIELDS
queries:
  q: {window: RANGE 10 us SLIDE 10 us WATTR ts, group_by: KEY, aggregates: {n: count, m: MEAN}}
"""


def shown(fields: dict[str, str], key: list[str], mean: str, *values: dict[str, object]) -> list:
    text = PIPELINE.replace("FIELDS", json.dumps(fields)).replace("KEY", json.dumps(key))
    pipeline = parse_pipeline(text.replace("MEAN", json.dumps(mean)))
    contents = [{"value": {"ts": 1, **value}} for value in values]
    log = lane_of([*contents, {"control": {"end": True}}])
    rows = [json.loads(line) for line in row_lines(run(pipeline, batches(log, 1, pipeline)).rows)]
    return [[row["key"], row["values"]["n"], row["values"]["m"]] for row in rows]


def test_a_key_called_like_a_bin_tells_null_from_zero() -> None:
    """W4: `k#b001` looked like a bin of `k`, whose nulls are zeros."""
    fields = {"k#b001": "int?", "k": "float?"}
    found = shown(
        fields, ["k#b001"], "mean(k)", {"k#b001": None, "k": 1.5}, {"k#b001": 0, "k": 2.5}
    )
    assert found == [[[None], 1, 1.5], [[0], 1, 2.5]]


def test_a_key_called_like_the_state_of_a_field_that_looks_like_a_key() -> None:
    """The column of key `k#n` and a state of field `=k` were both called `=k#n`."""
    fields = {"k#n": "int?", "=k": "int?"}
    found = shown(fields, ["k#n"], "mean(=k)", {"k#n": 7, "=k": 1}, {"k#n": None, "=k": 5})
    assert found == [[[None], 1, 5.0], [[7], 1, 1.0]]


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "empty"), ("a\0b", "U\\+0000"), ("x" * 256, "255 bytes"), ("\ud800", "not text")],
)
def test_names_that_no_table_can_hold_are_refused(name: str, message: str) -> None:
    text = PIPELINE.replace("FIELDS", json.dumps({name: "int?", "v": "int"}))
    text = text.replace("KEY", "[]").replace("MEAN", "mean(v)")
    with pytest.raises(PipelineError, match=message):
        parse_pipeline(text)


def test_clocks_have_names_of_their_own() -> None:
    ids = [ClockId("a per b", None), ClockId("a", "b"), ClockId("a per", "b"), ClockId("a", "r b")]
    ids += [ClockId("a", None), ClockId("a per b", "c"), ClockId("a", "b per c"), ClockId(" ", "b")]
    assert len({clock.name for clock in ids}) == len(ids)


@pytest.mark.parametrize(
    ("unit", "type_", "times"),
    [
        ("iso", "string", ["2024-01-01T09:00:00Z", "2024-01-01T10:00:00+02:00"]),
        ("ms", "int", [1_704_099_600_000, 1_704_096_000_000]),
    ],
)
def test_an_event_time_under_fields_too_orders_records_by_the_time(
    unit: str, type_: str, times: list[object]
) -> None:
    """By its text, 09:00 UTC comes before 10:00 at +02:00, which is 08:00 UTC."""
    text = PIPELINE.replace("FIELDS", json.dumps({"v": "int", "ts": type_}))
    text = text.replace("{field: ts, unit: us}", f"{{field: ts, unit: {unit}}}")
    text = text.replace("disorder: ordered", "disorder: {slack: 1 day}").replace("KEY", "[]")
    text = text.replace("RANGE 10 us SLIDE 10 us", "RANGE 1 day SLIDE 1 day")
    pipeline = parse_pipeline(text.replace("m: MEAN", "m: first(v), w: argmax(v), u: last(v)"))
    contents = [{"value": {"ts": ts, "v": v}} for v, ts in enumerate(times)]
    log = lane_of([*contents, {"control": {"end": True}}])
    (row,) = run(pipeline, batches(log, 9, pipeline)).rows
    assert row.values == {"n": 2, "m": 1, "w": 1_704_096_000_000_000, "u": 0}
    assert list(row_lines(evaluate(pipeline, log).rows)) == list(row_lines([row]))
