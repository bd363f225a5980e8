"""The sinks' own code, without Spark: frames of several shards into tables, and `verify` on those.

By hand: simulated runs write every class of windows and every accumulation into tables.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.readers.delta import read_tables
from chaos.verdict.verify import verify
from tests.sampling import sampled
from tests.strategies import KINDS, Case, Entry, cases, entry, lane_of
from windowing.engine.reading.batches import batches
from windowing.engine.tuning import Tuning
from windowing.model import Pipeline, parse_pipeline
from windowing.model.run_errors import ArrivalOrder
from windowing.runtime.local import LocalEngine
from windowing.runtime.output import RESULT, SinkFrame, tagged
from windowing.spark.sinks.rows import BatchRows
from windowing.spark.sinks.table import TableSink

INLINE_BYTES = Tuning().inline_result_bytes
ACCUMULATIONS = ("accumulating", "discarding", "retracting")
_EXAMPLES = max(settings.default.max_examples // 5, 8) if settings.default else 8


def written(
    pipeline: Pipeline, log: Sequence[Entry], rows: int, inline_bytes: int = INLINE_BYTES
) -> list[str]:
    """The verdict on what the table sink wrote of a log, cut into batches of so many rows.

    Every shard is a separate task, which writes larger results than `inline_bytes` into files.
    """
    engine = LocalEngine(pipeline)
    with tempfile.TemporaryDirectory() as folder:
        sink = TableSink(pipeline, Path(folder), "run")
        for number, batch in enumerate(batches(log, rows, pipeline)):
            stage = sink.file_stage(number, inline_bytes)
            shards = [stage.of(shard) for shard in frames_by_shard(engine, batch, number)]
            sink.take([frame for shard in shards for frame in shard], number)
        if not log:
            return []
        verdict = verify(pipeline, log, read_tables(folder, pipeline, "run"))
    assert verdict.ok, "\n".join(verdict.lines())
    return verdict.lines()


def frames(engine: LocalEngine, batch: object, number: int) -> list[SinkFrame]:
    """A batch's frames, of all shards; the wall clock moves by a second with each batch."""
    return [frame for shard in frames_by_shard(engine, batch, number) for frame in shard]


def frames_by_shard(engine: LocalEngine, batch: object, number: int) -> list[list[SinkFrame]]:
    emissions = engine.feed(batch, wall_us=number * 1_000_000)  # type: ignore[arg-type]
    return [[*tagged(emission)] for emission in emissions]


def with_keys(case: Case, **keys: object) -> Pipeline:
    """The pipeline of a case with these keys in each of its queries."""
    document = yaml.safe_load(case.pipeline)
    for query in document["queries"].values():
        query.update(keys)
    return parse_pipeline(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))


RETRACTING = """
name: p
source: {{topic: s, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
  fields: {{k: int}}, disorder: ordered}}
accumulation: retracting
late: {{policy: update, every: 5 us}}
retention: 100 us
shards: {shards}
queries: {{q: {{window: {window}, group_by: [k], aggregates: {{n: count}}}}}}
"""


def log_of(*times: int) -> list[Entry]:
    return lane_of({"value": {"ts": ts, "k": n % 7}} for n, ts in enumerate(times))


_RETRACTED = product(
    [(1, 12, 25), (1, 12, 25, 3, 26, 13, 40, 2, 70), (5, 40, 3, 60)],
    ["RANGE 10 us SLIDE 10 us WATTR ts", "SESSION 5 us WATTR ts"],
    [1, 4],
    [1, 2, 100],
    [0, INLINE_BYTES],
)


@pytest.mark.parametrize(
    ("times", "window", "shards", "rows", "inline_bytes"), sampled(_RETRACTED, every=5)
)
def test_a_retracting_query_is_written_with_and_without_late_records(
    times: tuple[int, ...], window: str, shards: int, rows: int, inline_bytes: int
) -> None:
    pipeline = parse_pipeline(RETRACTING.format(window=window, shards=shards))
    written(pipeline, log_of(*times), rows, inline_bytes)


@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_a_query_has_one_frame_schema_whatever_a_batch_brings(data: st.DataObject) -> None:
    """Frames of all shards are put together: they must agree in names, order and types."""
    case = data.draw(cases(kind=data.draw(st.sampled_from(KINDS)), wide=True))
    pipeline = with_keys(case, accumulation=data.draw(st.sampled_from(ACCUMULATIONS)))
    engine, found = LocalEngine(pipeline), dict[tuple[str, str | None], object]()
    log = [entry(event) for event in case.events]
    try:
        for batch in batches(log, data.draw(st.sampled_from([1, 3, 8]))):
            for emission in engine.feed(batch):
                for query, frame in emission.results.items():
                    schema = list(frame.schema.items())
                    assert found.setdefault((RESULT, query), schema) == schema
    except ArrivalOrder:
        return


@pytest.mark.parametrize("accumulation", ACCUMULATIONS)
@pytest.mark.parametrize("window", ["RANGE 10 us SLIDE 10 us WATTR ts", "SESSION 5 us WATTR ts"])
def test_early_rows_are_written_beside_the_others(window: str, accumulation: str) -> None:
    text = RETRACTING.format(window=window, shards=2).replace("retracting", accumulation)
    pipeline = parse_pipeline(text + "early: {records: 1}\n")
    written(pipeline, log_of(1, 12, 25, 3, 26, 13, 40, 2, 70), 2)
    engine = LocalEngine(pipeline)
    (batch,) = batches(log_of(1, 2, 3), 10)
    tables = BatchRows(pipeline, "run").tables(frames(engine, batch, 0), 0)
    assert {*tables["q"]["pane"].to_pylist()} == {"early"}


@pytest.mark.parametrize("window", ["RANGE 10 us SLIDE 10 us WATTR ts PATTR k"])
def test_pattr_may_stand_in_group_by_too(window: str) -> None:
    text = RETRACTING.format(window=window, shards=2).replace("group_by: [k]", "group_by: [z, k]")
    pipeline = parse_pipeline(text.replace("fields: {k: int}", "fields: {k: int, z: 'int?'}"))
    written(pipeline, log_of(1, 12, 25, 3, 26, 13, 40, 2, 70), 2)


def test_early_rows_of_silent_lanes_are_no_part_of_the_result() -> None:
    """`idle_timeout` sends early rows without any `early:` in the file."""
    text = RETRACTING.format(window="RANGE 10 us SLIDE 10 us WATTR ts", shards=2)
    text = text.replace("partitions: 1", "partitions: 2").replace(
        "disorder: ordered", "disorder: ordered, idle_timeout: 2 s"
    )
    pipeline = parse_pipeline(text)
    engine, early = LocalEngine(pipeline), 0
    for number, batch in enumerate(batches(log_of(1, 12, 25, 40, 55, 70), 1, pipeline)):
        early += sum(len(e.early) for e in engine.feed(batch, number * 1_000_000))
    assert early > 0
    written(pipeline, log_of(1, 12, 25, 40, 55, 70), 1)
