"""Two versions of a pipeline in one folder of tables: both are right, or the second touches none.

L1: a new aggregate ended the living job, and the new one died in its first batch, again and again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chaos.quality.batches import RunTables
from chaos.quality.columns import value_columns
from chaos.readers.delta import read_tables
from chaos.readers.output import OutputError
from chaos.readers.table import TableColumns
from chaos.verdict.verify import verify
from tests.strategies import Entry, lane_of
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline, parse_pipeline
from windowing.model.run_errors import TableConflict
from windowing.runtime.local import LocalEngine
from windowing.runtime.output import tagged
from windowing.spark.sinks.growth import additions, conflicts
from windowing.spark.sinks.rows import schemas
from windowing.spark.sinks.table import TableSink, schemas_in

PIPELINE = """
name: p
source: {{topic: s, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
  fields: {{k: {k}, z: 'int?', v: int, f: float}}, disorder: ordered}}
late: {{policy: update, every: 5 us}}
retention: 100 us
shards: 2
queries:
{queries}
"""
TYPES = {
    "n: count": "int",
    "n: mean(v)": "float",
    "x: sum(v)": "int",
    "x: sum(f)": "float",
    "x: mean(v)": "float",
    "x: last(k)": "k",
    "y: collect(v)": "ints",
    "y: max(f)": "float",
}
"""Aggregates with the types of their results, which share names."""


@dataclass(frozen=True)
class Version:
    """One version of the file.

    Attributes:
        k: the type of field k.
        queries: by name, the key and the aggregates.
        window: of all queries.
        accumulation: of all queries.
    """

    queries: dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
    k: str = "int"
    window: str = "RANGE 10 us SLIDE 10 us WATTR ts"
    accumulation: str = "accumulating"

    @property
    def pipeline(self) -> Pipeline:
        queries = "".join(
            f"  {name}: {{window: {self.window}, group_by: [{', '.join(keys)}], "
            f"accumulation: {self.accumulation}, aggregates: {{{', '.join(aggregates)}}}}}\n"
            for name, (keys, aggregates) in self.queries.items()
        )
        return parse_pipeline(PIPELINE.format(k=self.k, queries=queries))

    def key(self, query: str) -> dict[str, str]:
        return {name: {"k": self.k, "z": "int"}[name] for name in self.queries[query][0]}

    def values(self, query: str) -> dict[str, str]:
        named = ((text.partition(":")[0], TYPES[text]) for text in self.queries[query][1])
        return {name: self.k if type_ == "k" else type_ for name, type_ in named}


def goes_together(old: Version, new: Version) -> bool:
    """Whether the rows of both can stand in one table, by what the files say."""
    for query in {*old.queries} & {*new.queries}:
        was, now = old.values(query), new.values(query)
        if old.key(query) != new.key(query) or any(was[n] != now[n] for n in {*was} & {*now}):
            return False
    return True


_KEYS = st.lists(st.sampled_from(["k", "z"]), unique=True, max_size=2).map(tuple)
_AGGREGATES = st.lists(
    st.sampled_from([*TYPES]), unique_by=lambda text: text.partition(":")[0], min_size=1
).map(tuple)
VERSIONS = st.builds(
    Version,
    queries=st.dictionaries(st.sampled_from(["a", "b"]), st.tuples(_KEYS, _AGGREGATES), min_size=1),
    k=st.sampled_from(["int", "string"]),
    window=st.sampled_from(["RANGE 10 us SLIDE 10 us WATTR ts", "SESSION 5 us WATTR ts"]),
    accumulation=st.sampled_from(["accumulating", "retracting"]),
)


TIMES = (1, 12, 25, 3, 26, 13, 70)


def log(version: Version) -> list[Entry]:
    values = [
        {"ts": ts, "k": n % 2 if version.k == "int" else str(n % 2), "z": n % 3 or None}
        | {"v": n, "f": n / 2}
        for n, ts in enumerate(TIMES)
    ]
    return lane_of({"value": value} for value in values)


class BatchedRun:
    """A run that writes its log batch by batch."""

    def __init__(self, version: Version, folder: Path, run: str) -> None:
        self.pipeline, self.folder, self.run = version.pipeline, folder, run
        self.log = log(version)
        self._sink = self.open()
        self._engine = LocalEngine(self.pipeline)
        self._batches = enumerate(batches(self.log, 2, self.pipeline))

    def open(self) -> Any:
        return TableSink(self.pipeline, self.folder, self.run)

    def step(self) -> bool:
        for number, batch in self._batches:
            emissions = self._engine.feed(batch, wall_us=0)
            self._sink.take([frame for one in emissions for frame in tagged(one)], number)
            return True
        return False

    def finish(self) -> None:
        while self.step():
            pass

    def check(self) -> None:
        verdict = verify(self.pipeline, self.log, read_tables(self.folder, self.pipeline, self.run))
        assert verdict.ok, "\n".join(verdict.lines())
        # As `quality` reads them.
        tables = RunTables(TableColumns(self.pipeline, self.folder, self.run))
        for query in self.pipeline.flows:
            names = {*value_columns(query).values()}
            assert names <= {*tables.rows(query).columns}


@contextmanager
def untouched(folder: Path) -> Iterator[None]:
    def content() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    before = content()
    yield
    assert content() == before


_EXAMPLES = max(settings.default.max_examples // 4, 3) if settings.default else 3
ONE = Version({"a": (("k",), ("n: count",))})


@settings(max_examples=_EXAMPLES)
@given(old=VERSIONS, new=VERSIONS)
@example(old=ONE, new=Version({"a": (("k",), ("n: count", "y: max(f)"))}))
@example(old=ONE, new=Version({"a": (("k",), ("n: count",)), "b": ((), ("n: count",))}))
@example(old=ONE, new=Version({"a": (("k", "z"), ("n: count",))}))
@example(old=ONE, new=Version({"a": ((), ("n: count",))}))
@example(old=ONE, new=Version({"a": (("k",), ("n: count",))}, k="string"))
@example(
    old=Version({"a": (("k",), ("x: sum(v)",))}), new=Version({"a": (("k",), ("x: mean(v)",))})
)
@example(old=ONE, new=Version({"a": (("k",), ("n: count",))}, accumulation="retracting"))
def test_both_versions_are_right_or_the_second_touches_nothing(old: Version, new: Version) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        blue = BatchedRun(old, folder, "blue")
        blue.step()
        want = schemas(new.pipeline)
        assert (not conflicts(schemas_in(folder, want), want)) == goes_together(old, new)
        if not goes_together(old, new):
            with untouched(folder), pytest.raises(TableConflict, match=r"is to be .* of its own"):
                BatchedRun(new, folder, "green")
            return
        green = BatchedRun(new, folder, "green")
        green.step()
        blue.finish()  # it lives on beside the other, in tables that have grown
        green.finish()
        blue.check()
        green.check()
        assert not additions(schemas_in(folder, want), want)


def test_what_is_new_is_said() -> None:
    new = Version({"a": (("k",), ("n: count", "y: collect(v)")), "b": ((), ("n: count",))})
    have, want = schemas(ONE.pipeline), schemas(new.pipeline)
    assert additions(have, want) == ["new column a.values.y (list of int)", "new table b"]
    other = schemas(Version({"a": (("z",), ("n: mean(v)",))}).pipeline)
    assert conflicts(have, other) == [
        "the key of table a is {k: int}, and is to be {z: int}",
        "a.values.n is int, and is to be float",
    ]


def test_executors_of_the_first_batch_have_the_columns_that_a_table_has_just_got(
    tmp_path: Path,
) -> None:
    BatchedRun(ONE, tmp_path, "r1").finish()
    grown = Version({"a": (("k",), ("n: count", "y: max(f)"))}).pipeline
    stage = TableSink(grown, tmp_path, "r2").file_stage(0, 0)
    assert not additions(stage.schemas, schemas(grown))


def test_a_column_that_comes_between_look_and_commit_costs_nothing(tmp_path: Path) -> None:
    """The other run's change of the table is met by the commit itself, not by the look before."""
    blue = BatchedRun(ONE, tmp_path, "blue")
    blue.step()
    has = blue._sink._has

    def and_then_it_grows(*arguments: object) -> bool:
        found = has(*arguments)  # type: ignore[arg-type]
        TableSink(Version({"a": (("k",), ("n: count", "y: max(f)"))}).pipeline, tmp_path, "green")
        return found

    blue._sink._has = and_then_it_grows  # type: ignore[method-assign]
    blue.finish()
    blue.check()


def test_values_of_an_aggregate_that_the_file_lacks_are_no_result_of_it(tmp_path: Path) -> None:
    run = BatchedRun(Version({"a": (("k",), ("n: count", "y: max(f)"))}), tmp_path, "blue")
    run.finish()
    with pytest.raises(OutputError, match=r"values\.y has values in rows of this run.*no y"):
        read_tables(tmp_path, ONE.pipeline, "blue")


def test_a_table_without_lag_gets_the_column(tmp_path: Path) -> None:
    schema = schemas(ONE.pipeline)["a"]
    old = schema.remove(schema.get_field_index("lag_us"))
    DeltaTable.create(tmp_path / "a", old, partition_by=["run"])
    run = BatchedRun(ONE, tmp_path, "blue")
    run.finish()
    run.check()
    assert "lag_us" in schemas_in(tmp_path, ["a"])["a"].names
