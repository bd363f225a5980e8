"""The schema of partial states: what a column is stands there, and follows from no name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies.names import ENGINE, PLAIN, STRANGE, TAKEN
from tests.unit.engine.test_aggregates import FIELDS, POOL
from windowing.engine import columns
from windowing.engine.aggregates import Accumulators, StateSchema
from windowing.engine.aggregates.exact import BINS, SQUARE_BINS, to_bins, to_square_bins
from windowing.engine.aggregates.schema import Role
from windowing.engine.columns import field_column, state_column
from windowing.engine.reading.decoders.decoder import dtype_of
from windowing.model.fields import parse_aggregate
from windowing.model.types import FieldType

ROOT = Path(__file__).resolve().parents[3]
NAMES = st.sampled_from([*PLAIN, *STRANGE, *TAKEN]) | st.text(min_size=1, max_size=4)


# What takes names of columns; `Series` is given one, and the others of polars look some up.
_TAKE_NAMES = {
    *("Series", "alias", "agg", "col", "drop", "explode", "group_by", "int_ranges", "join", "over"),
    *("max_horizontal", "min_horizontal", "otherwise", "rename", "select", "sort", "sort_by"),
    *("struct", "then", "to_struct", "unique", "with_columns"),
}


def spelled_out(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The engine's own columns that some code names by a text, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(slice=ast.Constant(value=str(name))) if name in ENGINE:
                yield node.lineno, name
            case ast.Call(func=ast.Attribute(attr=method), args=args, keywords=keywords):
                if method in _TAKE_NAMES:
                    inside = [n for argument in args for n in ast.walk(argument)]
                    inside += [k.value for k in keywords if k.arg == "on"]
                    yield from (
                        (node.lineno, n.value)
                        for n in inside
                        if isinstance(n, ast.Constant) and n.value in ENGINE
                    )


def schema_of(*texts: str, fields: dict[str, FieldType] = FIELDS) -> StateSchema:
    aggregates = [parse_aggregate(f"a{n}", text) for n, text in enumerate(texts)]
    return StateSchema.over(aggregates, fields, columns.TIME)


def records(fields: dict[str, FieldType], **values: list[float | None]) -> pl.DataFrame:
    count = max(map(len, values.values()))
    own = {
        columns.TIME: pl.Series([0] * count, dtype=pl.Int64),
        columns.PARTITION: pl.Series([0] * count, dtype=pl.Int32),
        columns.OFFSET: pl.Series(range(count), dtype=pl.Int64),
    }
    read = {
        field_column(name): pl.Series(values.get(name, [None] * count), dtype=dtype_of(type_))
        for name, type_ in fields.items()
    }
    return pl.DataFrame(own | read)


@given(st.lists(st.sampled_from(POOL), min_size=1, max_size=4, unique=True))
def test_it_lists_what_new_states_have(texts: list[str]) -> None:
    aggregates = [parse_aggregate(f"a{n}", text) for n, text in enumerate(texts)]
    schema = schema_of(*texts)
    lifted = Accumulators(aggregates, FIELDS, schema).lift(records(FIELDS, x=[1.5, None]))
    assert [(s.name, s.dtype) for s in lifted] == [
        (s.name, schema.columns[s.name].dtype) for s in lifted
    ]
    listed = [name for name, column in schema.columns.items() if column.role is not Role.BIN]
    assert [s.name for s in lifted if schema.columns[s.name].role is not Role.BIN] == listed


def test_it_says_who_reads_a_column() -> None:
    schema = schema_of("sum(x)", "stddev(x)", "max(v)", "median(v)", "quantile(v, 0.9)", "count")
    readers = {name: column.aggregates for name, column in schema.columns.items()}
    assert readers["records"] == readers["first"] == readers["last"] == ()
    assert readers["x#n"] == readers["x#b000"] == readers["x#s000"] == ("a0", "a1")
    assert readers["v#max"] == ("a2",)
    assert readers["v#values"] == ("a3", "a4")
    assert "v#n" not in readers


@pytest.mark.parametrize("value", [1.7976931348623157e308, 5e-324, -1.7976931348623157e308])
def test_it_lists_the_bins_of_every_double(value: float) -> None:
    one = pl.Series([value]).to_numpy()
    assert max(to_bins(one)) < BINS
    assert max(to_square_bins(one)) < SQUARE_BINS
    schema = schema_of("var(x)")
    lifted = schema.sums["x"].lift(pl.Series([value]))
    assert all(column.name in schema.columns for column in lifted)


def test_the_largest_double_uses_the_last_bin() -> None:
    largest = pl.Series([1.7976931348623157e308]).to_numpy()
    assert (max(to_bins(largest)), max(to_square_bins(largest))) == (BINS - 1, SQUARE_BINS - 1)


@given(NAMES, NAMES, st.sampled_from(["n", "b017", "s003", "min", "earliest"]))
def test_no_two_kinds_of_names_meet(one: str, other: str, part: str) -> None:
    assert field_column(one) != state_column(other, part)
    assert not {field_column(one), state_column(other, part)} & {*ENGINE}
    if one != other:
        assert field_column(one) != field_column(other)
        assert state_column(one, part) != state_column(other, part)


@given(st.lists(NAMES.filter(lambda name: name != "x"), min_size=1, max_size=5, unique=True))
def test_what_it_does_not_list_is_no_part_of_a_state(names: list[str]) -> None:
    """Merging leaves it out, and padding leaves its nulls alone, whatever it is called."""
    fields = {"x": FIELDS["x"], **dict.fromkeys(names, FieldType("int", nullable=True))}
    mean = [parse_aggregate("m", "mean(x)")]
    accumulators = Accumulators(mean, fields, StateSchema.over(mean, fields, columns.TIME))
    frame = records(fields, x=[1.5, None])
    keys = [field_column(name) for name in names]
    states = pl.DataFrame([*(frame[key] for key in keys), *accumulators.lift(frame)])
    both = accumulators.concat([states, states])
    assert both.select(keys).null_count().row(0) == (len(both),) * len(keys)
    merged = accumulators.merge(both, keys[:1])
    assert {*merged.columns} - {*accumulators.schema.columns} == {keys[0]}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("frame['w_first']", ["w_first"]),
        ("frame.sort(*keys, 'at')", ["at"]),
        ("pl.col('release').min()", ["release"]),
        ("frame.unique(OFFSET, keep='first')", []),
        ("frame.sort('due')", []),
    ],
)
def test_the_search_for_names_finds_them(code: str, found: list[str]) -> None:
    assert [name for _, name in spelled_out(ast.parse(code))] == found


def test_the_engine_names_its_columns_in_one_place() -> None:
    engine = ROOT / "windowing" / "engine"
    # What a control record says is JSON.
    others = {engine / "columns.py", engine / "reading" / "control.py"}
    found = {
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in {*engine.rglob("*.py")} - others
        for line, name in spelled_out(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert not found, sorted(found)
