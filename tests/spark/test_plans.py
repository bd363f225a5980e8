"""Both plans on Spark: the bytes of the local engine, for recorded pipelines and every class."""

from __future__ import annotations

import random
import shutil
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chaos.readers.log import read_events
from conformance.wid import Case, question_of
from tests.strategies import Event, entry
from tests.unit.conformance.test_samza import ASKED
from tests.unit.conformance.test_wid import CASES
from tests.unit.engine.rows.test_hosted import drawn_log, interleaved, pipeline
from windowing.engine.plan import plan_of
from windowing.engine.reading.batches import batches, checked, interleave
from windowing.engine.reading.pack import RawRows
from windowing.model import Pipeline, load_pipeline, parse_pipeline
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.model.run_errors import BadRecords
from windowing.runtime.local import LocalEngine, Output
from windowing.runtime.output import write_output

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


DATA = Path(__file__).parents[1] / "data" / "pipelines"
BY_DAY = ("aggregates", "join", "late-update-generous", "poison", "sessions", "silent-lane")
"""The others are run at night."""


@pytest.mark.parametrize("name", BY_DAY)
def test_recorded_pipelines_give_their_bytes_on_spark(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    gives_its_bytes(name, spark, tmp_path)


def gives_its_bytes(name: str, spark: SparkSession, folder: Path) -> None:
    from jobs.file_run import run

    pipeline = load_pipeline(DATA / name / "pipeline.yml")
    log = interleave(checked(read_events(DATA / name / "events.jsonl"), pipeline), seed=7)
    result = run(pipeline, batches(log, 25, pipeline), spark)
    write_output(folder / "out.jsonl", result.rows, result.dead_letters)
    for file in ("out.jsonl", "out.dead.jsonl"):
        assert (folder / file).read_bytes() == (DATA / name / file).read_bytes()


CASE = DATA / "late-update-generous"


def restarted(spark: SparkSession, folder: Path, *, fused: bool) -> list[str]:
    """Run the case with a restart half-way; return the state of its shards."""
    from jobs.file_run import finish, one_file_a_batch
    from jobs.state import as_json, read_state
    from windowing.spark.plan import emissions
    from windowing.spark.sinks import MemorySink

    pipeline = load_pipeline(CASE / "pipeline.yml")
    assert plan_of(pipeline).why_lanes is None
    log = interleave(checked(read_events(CASE / "events.jsonl"), pipeline), seed=3)
    cuts, sink = [*batches(log, 20, pipeline)], MemorySink(pipeline)
    for end in (len(cuts) // 2, len(cuts)):
        # A restarted job finds its checkpoint, and the files of the batches before.
        shutil.rmtree(folder / "batches", ignore_errors=True)
        raw = one_file_a_batch(spark, cuts[:end], folder)
        finish(emissions(raw, pipeline, fused=fused), sink.write, folder)
    write_output(folder / "out.jsonl", sink.output.rows, sink.output.dead_letters)
    state = list(read_state(spark, folder / "checkpoint", pipeline))
    assert fused != any(line["part"].startswith("lane ") for line in state)
    spelled = zip(state, map(as_json, state), strict=True)
    return [text for line, text in spelled if line["table"] not in ("lane", "lanes")]


def test_both_plans_give_the_same_rows_and_state(spark: SparkSession, tmp_path: Path) -> None:
    states = []
    for fused in (True, False):
        folder = tmp_path / str(fused)
        folder.mkdir()
        states.append(restarted(spark, folder, fused=fused))
        for file in ("out.jsonl", "out.dead.jsonl"):
            assert (folder / file).read_bytes() == (CASE / file).read_bytes()
    assert states[0] == states[1]


def test_a_pipeline_that_needs_lanes_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    from jobs.file_run import one_file_a_batch
    from windowing.spark.plan import emissions

    name = next(
        path.name
        for path in sorted(DATA.iterdir())
        if path.is_dir() and plan_of(load_pipeline(path / "pipeline.yml")).why_lanes is not None
    )
    pipeline = load_pipeline(DATA / name / "pipeline.yml")
    raw = one_file_a_batch(spark, batches([], 1, pipeline), tmp_path)
    with pytest.raises(BadRecords, match="lanes need a stage of their own"):
        emissions(raw, pipeline, fused=True)


_EACH = 5


def sample() -> list[Case]:
    """Some of each class, with as many generators as there are."""
    by_class = defaultdict(list)
    for case in CASES.values():
        if "error" not in case.expected:
            window = question_of(case).query.window
            by_class[window.kind, window.traits.order].append(case)
    return [case for cases in by_class.values() for case in cases[-_EACH:]]


def test_a_sample_of_every_class_on_spark(spark: SparkSession) -> None:
    from conformance.drivers import wid
    from jobs.many_runs import run_all

    chosen = sample()
    assert len(chosen) >= 30
    found = list(wid.judge_on_spark(chosen, 0, partial(run_all, spark=spark)))
    assert len(found) == len(chosen)
    for on_spark, by_definition in found:
        assert on_spark.judged_by == "engine on Spark"
        assert on_spark.difference is None, on_spark.line()
        assert by_definition.difference is None, by_definition.line()


def test_every_scenario_that_a_pipeline_can_ask_on_spark(spark: SparkSession) -> None:
    from conformance.drivers import samza_logs
    from jobs.many_runs import run_all

    run = partial(run_all, spark=spark)
    found = samza_logs.judge_on_spark([*ASKED.values()], 0, run)
    assert [verdict.case for verdict in found] == [*ASKED]
    for verdict in found:
        assert verdict.judged_by == "engine on Spark"
        assert verdict.difference is None, verdict.line()


_CHAIN = (
    "steps: [{operator: dedup, window: 'SLIDING count(3), count(1) PARTITIONED BY k', by: [v]}, "
    "{operator: aggregate, window: 'SLIDING time(9 us), time(6 us) PARTITIONED BY k', "
    "partial_windows: true, aggregates: {n: count, mean: mean(x), all: collect(v)}}]"
)
_PANES = (
    "operator: aggregate, window: 'SLIDING time(12 us), time(3 us) PARTITIONED BY k', "
    "aggregates: {n: count, mean: mean(x)}"
)
_SOURCE = (
    "{topic: %s, partitions: 1, format: json, event_time: {field: ts, unit: us}, "
    "fields: {k: string, v: int, g: 'string?', x: 'float?'}, disorder: {slack: 5 us}}"
)
_JOIN = f"""
name: p
join:
  operator: join
  left: {{source: {_SOURCE % "a"}, window: SLIDING count(3) PARTITIONED BY k}}
  right: {{source: {_SOURCE % "b"}, window: SLIDING time(10 us) PARTITIONED BY k}}
  kind: full
  equal: [k]
  select: {{v: left.v, other: right.v}}
shards: 3
"""
_SORT = "operator: sort, window: 'SLIDING count(3), count(1) PARTITIONED BY k', by: [v desc, x]"


def queries() -> Pipeline:
    """One in canonical order, one in two stages, one in lane order."""
    text = pipeline(_CHAIN, "canonical").text
    text += f"  panes: {{{_PANES}}}\n  by_lane: {{{_SORT}, order: lane}}\n"
    return parse_pipeline(text)


def of_two_topics(event: Event) -> Event:
    """The same event with each lane as a topic of its own."""
    return {**event, "source": "ab"[event["partition"]], "partition": 0}


def everything(output: Output) -> list[str]:
    return sorted([*row_lines(output.rows), *dead_letter_lines(output.dead_letters)])


@pytest.mark.parametrize("joins", [False, True])
def test_rows_on_spark_are_those_of_the_local_engine(
    spark: SparkSession, tmp_path: Path, *, joins: bool
) -> None:
    from jobs.file_run import finish, one_file_a_batch
    from windowing.spark.plan import emissions
    from windowing.spark.sinks import MemorySink

    spec = parse_pipeline(_JOIN) if joins else queries()
    events = interleaved(drawn_log(3, 60), random.Random(3))
    log = [entry(of_two_topics(event) if joins else event) for event in events]
    cuts: list[dict[int, RawRows]] = [*batches(log, 12, spec)]
    sink = MemorySink(spec)
    for end in (len(cuts) // 2, len(cuts)):
        # A restarted job finds its checkpoint, and the files of the batches before.
        shutil.rmtree(tmp_path / "batches", ignore_errors=True)
        raw = one_file_a_batch(spark, cuts[:end], tmp_path)
        finish(emissions(raw, spec), sink.write, tmp_path)
    local = LocalEngine(spec)
    for batch in batches(log, 5, spec):
        local.feed(batch)
    assert {row.query for row in local.output.rows} == {flow.name for flow in spec.flows}
    assert everything(sink.output) == everything(local.output)
