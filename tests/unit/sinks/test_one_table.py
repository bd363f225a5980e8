"""`sink: {layout: one}`: the rows of many queries in one table, and every reader of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml
from deltalake import DeltaTable, write_deltalake

from chaos.quality.batches import RunTables
from chaos.readers.delta import read_tables
from chaos.readers.output import OutputError, output_of
from chaos.readers.table import TableColumns
from jobs.overview import cache
from jobs.overview.tables import Tables
from jobs.runs.placement import is_version_of, with_place
from jobs.tools.results import of_run
from windowing.engine.plan import plan_of
from windowing.engine.reading.pack import RawRows
from windowing.engine.tuning import tuned
from windowing.model import Pipeline, Query, parse_pipeline
from windowing.model.errors import PipelineError
from windowing.runtime.local import LocalEngine
from windowing.runtime.output import tagged
from windowing.spark.sinks.sink import Sink
from windowing.spark.sinks.table import TableSink

TEXT = """
name: p
source: {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us},
  fields: {k: string, v: int, x: float}, disorder: {slack: 5 us}}
shards: 2
sink: {table: t, layout: one}
queries:
  sums: {window: RANGE 10 us SLIDE 10 us WATTR ts, group_by: [k], aggregates: {total: sum(v)}}
  late:
    window: RANGE 20 us SLIDE 5 us WATTR ts
    group_by: [k]
    aggregates: {n: count, total: sum(v)}
    late: {policy: update, every: 5 us}
    retention: 20 us
    accumulation: retracting
  chains: {window: {session: 4 us, wattr: ts}, group_by: [k], aggregates: {top: max(x)}}
"""
ONE = parse_pipeline(TEXT)
MANY = parse_pipeline(TEXT.replace(", layout: one", ""))


def records(count: int, seed: int = 7) -> RawRows:
    chance = random.Random(seed)
    values = [
        f'{{"ts":{3 * i + chance.randint(-15, 0)},"k":"{chance.choice("ab")}","v":{i},"x":{i}.5}}'
        for i in range(count)
    ]
    nothing = [None] * count
    return RawRows([*range(count)], [one.encode() for one in values], nothing, nothing)


def written(pipeline: Pipeline, sink: Sink) -> LocalEngine:
    engine, log = LocalEngine(pipeline), records(60)
    for number, start in enumerate(range(0, 60, 15)):
        emitted = engine.feed({0: log.part(start, start + 15)})
        sink.take([frame for one in emitted for frame in tagged(one)], number)
    return engine


def test_one_table_has_the_rows_of_all_queries(tmp_path: Path) -> None:
    engine = written(ONE, TableSink(ONE, tmp_path, "r1"))
    found, own = read_tables(tmp_path, ONE), output_of(engine.output.rows, [], "local")
    assert sorted(found.rows) == sorted(own.rows)
    assert {name for (name, *_), _ in own.rows} == {'"sums"', '"late"', '"chains"'}
    assert found.counts == {
        name: counts for name, counts in (found.counts or {}).items() if counts.read == 60
    }
    assert [*TableSink.kept(ONE, tmp_path, "r1").tables] == ["results", "dead_letters", "metrics"]
    table = DeltaTable(str(tmp_path / "results")).to_pyarrow_table()
    assert [field.name for field in table.schema.field("values").type] == ["total", "n", "top"]
    assert [field.name for field in table.schema.field("key").type] == ["k"]


def test_readers_find_each_querys_rows_in_it(tmp_path: Path) -> None:
    written(ONE, TableSink(ONE, tmp_path / "one", "r1"))
    written(MANY, TableSink(MANY, tmp_path / "many", "r1"))
    for query in ONE.of(Query):
        one, many = (
            of_run(tmp_path / layout / table, "r1", query).drop("lag_us")
            for layout, table in (("one", "results"), ("many", query.name))
        )
        # One table also has the marks that only other queries fill.
        assert sorted(one.select(many.columns).rows(), key=str) == sorted(many.rows(), key=str)
        frames = [
            RunTables(TableColumns(one, tmp_path / one.destination.layout, "r1")).rows(query)
            for one in (ONE, MANY)
        ]
        assert len(frames[0]) == len(frames[1]) > 0
        assert [*frames[0].columns] == [*frames[1].columns]
    one = Tables(tmp_path / "one", "r1", cache.Cache(tables=""))
    many = Tables(tmp_path / "many", "r1", cache.Cache(tables=""))
    shared = one.results(["results"])["results"]
    for name, own in many.results([*MANY.tables]).items():
        assert shared.of(name) == (own.rows, own.revisions)
        assert own.rows > 0


def test_rows_of_a_query_that_the_pipeline_lacks_are_not_passed_over(tmp_path: Path) -> None:
    written(ONE, TableSink(ONE, tmp_path, "r1"))
    table = DeltaTable(str(tmp_path / "results"))
    rows = table.to_pyarrow_table().slice(0, 1)
    place = rows.column_names.index("query")
    write_deltalake(table, rows.set_column(place, "query", [["strange"]]), mode="append")
    with pytest.raises(OutputError, match="rows of query strange"):
        read_tables(tmp_path, ONE)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"group_by": []}, "the key of odd is empty, and that of sums is k \\(string\\)"),
        ({"aggregates": {"total": "sum(x)"}}, "total is float in odd, and int in sums"),
        ({"aggregates": {"total": "collect(v)"}}, "total is a list of int in odd, and int in sums"),
    ],
)
def test_queries_that_do_not_fit_one_table_are_refused(
    change: dict[str, object], said: str
) -> None:
    document = yaml.safe_load(TEXT)
    document["queries"]["odd"] = document["queries"]["sums"] | change
    with pytest.raises(PipelineError, match=f"queries.odd.*{said}"):
        parse_pipeline(yaml.safe_dump(document, sort_keys=False))
    document["sink"].pop("layout")
    parse_pipeline(yaml.safe_dump(document, sort_keys=False))


def test_an_unknown_layout_is_refused() -> None:
    with pytest.raises(PipelineError, match="'two' is no layout: many gives each query"):
        parse_pipeline(TEXT.replace("layout: one", "layout: two"))


def test_the_layout_is_where_rows_go_and_not_what_they_are() -> None:
    assert ONE.fingerprint == MANY.fingerprint
    assert not is_version_of(ONE, MANY)
    moved = with_place(MANY, "t_v2", like=ONE)
    assert moved.destination.section == {"table": "t_v2", "layout": "one"}


FAMILY = parse_pipeline(
    TEXT[: TEXT.index("  chains")]
    + "".join(
        f"  more{n}: {{window: RANGE {5 * (n % 3 + 1)} us SLIDE {5 * (n % 2 + 1)} us WATTR ts, "
        f"group_by: [k], aggregates: {{a{n % 4}: sum(v), n: count}}}}\n"
        for n in range(40)
    )
)


def test_rows_of_queries_that_share_slices_are_those_of_each_alone(tmp_path: Path) -> None:
    assert len(plan_of(FAMILY).families) == 1
    engine = written(FAMILY, TableSink(FAMILY, tmp_path, "r1"))
    log = records(60)
    with tuned(share_from_queries=1_000):
        alone = LocalEngine(FAMILY)
    for start in range(0, 60, 15):
        alone.feed({0: log.part(start, start + 15)})
    own = output_of(alone.output.rows, [], "local")
    assert sorted(output_of(engine.output.rows, [], "local").rows) == sorted(own.rows)
    assert sorted(read_tables(tmp_path, FAMILY).rows) == sorted(own.rows)
