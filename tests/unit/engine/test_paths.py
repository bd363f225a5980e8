"""Paths into values: the contract's sentences, and engine and definition alike."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import entry
from tests.strategies.documents import declarations, shapes, written
from windowing.engine.reading.batches import batches
from windowing.engine.reading.decoders.json_objects import decode_clean, decode_uniform
from windowing.engine.reading.objects import BadValue
from windowing.engine.reading.refusals import detail
from windowing.engine.reading.rules import ValueRules
from windowing.engine.reading.values import reading_of
from windowing.engine.tuning import tuned
from windowing.model import Pipeline, parse_pipeline
from windowing.model.errors import PipelineError
from windowing.model.paths import canonical, in_text, parse_path, spelled, split_names
from windowing.model.rows import row_lines
from windowing.runtime.local import run
from windowing.semantics import evaluate
from windowing.semantics.values import Record, ValueReader


def pipeline(
    fields: dict[str, str],
    *,
    by: tuple[str, ...] = (),
    time: dict[str, Any] | None = None,
    window: str = "RANGE 10 us SLIDE 10 us WATTR ts",
    aggregates: dict[str, str] | None = None,
    **more: Any,
) -> Pipeline:
    source = {"topic": "s", "partitions": 1, "format": "json", "fields": fields}
    source |= {"event_time": time or {"field": "ts", "unit": "us"}, "disorder": "ordered", **more}
    query = {"window": window, "group_by": [*by], "aggregates": aggregates or {"n": "count"}}
    return parse_pipeline(yaml.safe_dump({"name": "p", "source": source, "queries": {"q": query}}))


def read_both(spec: Pipeline, value: str | bytes) -> list[Any]:
    """The fields, or the reason, by engine and definition."""
    raw = value.encode() if isinstance(value, str) else value
    try:
        draft = reading_of(ValueRules.of(spec)).exact(raw, None)
        found: Any = draft.ts_us, draft.fields
    except BadValue as bad:
        found = bad.reason
    meant = ValueReader(spec).read(raw, None)
    return [found, (meant.ts_us, meant.fields) if isinstance(meant, Record) else meant]


_FULL = '{"ts":1,"card":{"country":"DE","more":[{}]},"items":[7,{"sku":"x"},[]],"a.b":3}'
FIELDS = {"card.country": "string?", "items[1].sku": "string?", '"a.b"': "int?"}


@pytest.mark.parametrize(
    ("value", "country", "sku", "dotted"),
    [
        (_FULL, "DE", "x", 3),
        ('{"ts":1}', None, None, None),
        ('{"ts":1,"card":null,"items":null}', None, None, None),
        ('{"ts":1,"card":{"country":null},"items":[{"sku":"x"}]}', None, None, None),
        ('{"ts":1,"card":{},"items":[1,null]}', None, None, None),
    ],
)
def test_what_is_absent_or_null_on_the_way_is_null(
    value: str, country: str | None, sku: str | None, dotted: int | None
) -> None:
    names = dict(zip(FIELDS, (country, sku, dotted), strict=True))
    assert read_both(pipeline(FIELDS), value) == [(1, names)] * 2


@pytest.mark.parametrize(
    ("value", "field", "shown"),
    [
        ('{"ts":1,"card":5}', "card.country", "5"),
        ('{"ts":1,"card":[]}', "card.country", "[]"),
        ('{"ts":1,"card":{"country":{}}}', "card.country", "{}"),
        ('{"ts":1,"items":{"1":{"sku":"x"}}}', "items[1].sku", '{"1": {"sku": "x"}}'),
        ('{"ts":1,"items":[0,"sku"]}', "items[1].sku", '"sku"'),
    ],
)
def test_another_type_on_the_way_is_a_bad_type_with_its_path(
    value: str, field: str, shown: str
) -> None:
    spec = pipeline(FIELDS)
    assert read_both(spec, value) == ["bad_type"] * 2
    found = detail("bad_type", value.encode(), None, None, ValueRules.of(spec))
    assert (found.field, found.value) == (field, shown)


def test_reasons_keep_their_order_inside_of_values() -> None:
    time = {"field": "meta.at[0]", "unit": "us"}
    spec = pipeline(
        {"k.k": "string", "v": "int"}, by=("k.k",), time=time, window="RANGE 5 SLIDE 5 WATTR v"
    )
    reasons = {
        '{"meta":null}': "missing_event_time",
        '{"meta":{"at":[]}}': "missing_event_time",
        '{"meta":{"at":{}}}': "bad_event_time",
        '{"meta":7}': "bad_event_time",
        '{"meta":{"at":[1],"more":1},"x":1}': "unknown_field",
        '{"meta":{"at":[1]},"k":{"more":1},"v":"x"}': "null_key",
        '{"meta":{"at":[1]},"k":"text","v":1}': "bad_type",
    }
    for value, reason in reasons.items():
        assert read_both(spec, value) == [reason] * 2
    good = '{"meta":{"at":[1,"more"]},"k":{"k":"a","k.k":5},"v":1}'
    assert read_both(spec, good) == [(1, {"k.k": "a", "v": 1})] * 2


def test_names_with_dots_stand_wherever_names_stand() -> None:
    spec = pipeline(
        {"o.g": "string?", '"o.g"': "string?", "o.n": "int", 'o."v, (w)"': "int?", "o.l[0]": "int"},
        by=("o.g", '"o.g"'),
        time={"field": "o.ts", "unit": "us"},
        window="RANGE 10 SLIDE 10 WATTR o.n PATTR o.l[0]",
        aggregates={"s": 'sum(o."v, (w)")', "o.x": "argmax(o.n, o.g)", "q": "quantile(o.n, 0.5)"},
        disorder_of={"o.n": "ordered"},
    )
    value = {"ts": 1, "g": "a", "n": 4, "v, (w)": 2, "l": [9, "x"]}
    log = [
        entry({"source": "s", "partition": 0, "offset": 0, "value": {"o": value, "o.g": "b"}}),
        entry({"source": "s", "partition": 0, "offset": 1, "control": {"end": True}}),
    ]
    (row,) = run(spec, batches(log, 9, spec)).rows
    assert (row.key, row.values) == ((9, "a", "b"), {"s": 2, "o.x": "a", "q": 4})
    assert [*row_lines([row])] == [*row_lines(evaluate(spec, log).rows)]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (["card", "card.country"], "is inside of 'card'"),
        (["ts.x"], "is inside of 'ts'"),
        (["a", '"a"'], "are the same field"),
        (["o.a", "o[0]"], "an object for one field, and an array"),
        (["a..b"], "is not a path"),
        (["[0]"], "is not a path"),
    ],
)
def test_fields_that_cannot_be_are_refused(fields: list[str], words: str) -> None:
    with pytest.raises(PipelineError, match=words):
        pipeline(dict.fromkeys(fields, "int?"))


@given(declarations(), st.data())
def test_values_are_read_as_they_are_meant(names: list[str], data: st.DataObject) -> None:
    kinds = st.sampled_from(["int", "int?", "string?", "float?", "decimal(5,2)?", "timestamp?"])
    fields = {name: data.draw(kinds) for name in names[1:]}
    time = {"field": names[0], "unit": "us"}
    keys = [name for name in fields if data.draw(st.booleans())]
    unknown = data.draw(st.sampled_from(["ignore", "dead_letter"]))
    window = f"RANGE 10 us SLIDE 10 us WATTR {in_text(names[0])}"
    spec = pipeline(fields, by=(*keys,), time=time, window=window, unknown_fields=unknown)
    shape = data.draw(shapes(ValueRules.of(spec).tree))
    said = st.sampled_from(["1", "-5", "null", '"t"', "1.50", "true", "{}", "[1]", "1e400"])
    value = written(data.draw, shape, lambda name: data.draw(said))
    found, meant = read_both(spec, value.encode("utf-8", "surrogatepass"))
    assert found == meant


@pytest.mark.parametrize(
    "value",
    [
        b'{"ts":1,"card":{"country":"DE","x":{"y":[1,{}]}},"items":[{},{"sku":"x","n":1}],"a.b":3}',
        b'{"items": [1, {"sku": "x"}, [2, 3]], "a.b": 3, "card": {"country": null}, "ts": 1}',
    ],
)
def test_uniform_nested_values_are_read_by_column(value: bytes) -> None:
    rules = ValueRules.of(pipeline(FIELDS, unknown_fields="ignore"))
    values = [value] * 5
    with tuned(alike_from_values=1):
        uniform = decode_uniform(pl.Series(values), rules)
    assert uniform is not None
    assert uniform.matched.all()
    structs = decode_clean(values if b"[1," not in value else [], rules)
    assert structs is not None
    if len(structs):
        assert structs.select(sorted(structs.columns)).equals(
            uniform.columns.select(sorted(structs.columns))
        )


_STEPS = st.text('ab."[] é\\', max_size=3) | st.integers(0, 10**9 - 1)


@given(st.lists(_STEPS, min_size=1, max_size=4).filter(lambda steps: isinstance(steps[0], str)))
def test_a_path_is_what_its_spelling_says(steps: list[str | int]) -> None:
    name = spelled(tuple(steps))
    assert parse_path(name) == tuple(steps)
    assert canonical(in_text(name)) == name
    assert split_names(f"{in_text(name)}, x") == [in_text(name), "x"]
    assert json.dumps(name)
