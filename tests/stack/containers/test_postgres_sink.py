"""Rows in a real PostgreSQL: exactly once, with tokens, whatever dies and whatever is added."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pandas as pd
import psycopg
import pytest
import yaml

from chaos.quality.batches import RunTables
from chaos.readers.log import read_events
from chaos.readers.postgres import PostgresColumns, read_postgres
from chaos.readers.table import TableColumns
from chaos.simulator.case import Case
from chaos.simulator.platform.job import SimulatedJob, Tables
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.tables import token
from chaos.simulator.run import draw_case, history_of
from chaos.verdict.verify import verify
from jobs.checkpoints.agreement import compare
from jobs.checkpoints.plans import Checkpoint
from tests.unit.sinks.test_added_queries import ADDED, CUT, LOG, ROWS, TEXT, begun, gone_on
from tests.unit.sinks.test_sink_tokens import NAMES, PIPELINE, batches
from windowing.model import Pipeline, PipelineError, parse_pipeline
from windowing.model.run_errors import TokenMismatch
from windowing.runtime.token import Kept, Stretch
from windowing.spark.sinks import PostgresSink, RunPlace, begin_tables
from windowing.spark.sinks.written import WrittenBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


DATA = Path(__file__).parents[2] / "data" / "pipelines"
REFUSED = "tumbling"  # it calls an aggregate as the sink calls a column
CORE = "aggregates"  # columns of every type


def with_sink(name: str) -> Pipeline:
    text = (DATA / name / "pipeline.yml").read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if not line.startswith("sink:")]
    return parse_pipeline("\n".join([*kept, "sink: {postgres: out}"]) + "\n")


def end_whoever_waits() -> None:
    """End the one connection that waits for a lock, as a killed driver's would end."""
    until_s = time.monotonic() + 30
    with psycopg.connect(autocommit=True) as connection:
        while not connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where wait_event_type = 'Lock' and application_name = 'slackwater'"
        ).fetchall():
            assert time.monotonic() < until_s
            time.sleep(0.02)


def test_a_name_that_the_tables_have_already_is_refused() -> None:
    with pytest.raises(PipelineError, match="has a column 'records' already"):
        with_sink(REFUSED)


@pytest.mark.usefixtures("postgres")
def test_a_batch_that_dies_in_its_transaction_is_written_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    is_written_once(CORE, spark, tmp_path)


def is_written_once(name: str, spark: SparkSession, folder: Path) -> None:
    from jobs.file_run import finish, one_file_a_batch
    from windowing.engine.reading.batches import batches, checked
    from windowing.spark.plan import emissions
    from windowing.spark.sinks import PostgresSink, TableSink

    pipeline = with_sink(name)
    sink, tables = PostgresSink(pipeline, "out", "r1"), TableSink(pipeline, folder / "t", "r1")
    died: list[int] = []

    def write(batch: DataFrame, batch_id: int) -> None:
        batch.persist()
        if not died and batch.where("kind = 'metric'").count():
            with psycopg.connect() as other:  # holds up the batch between its rows and its counts
                other.execute("lock table out.metrics in exclusive mode")
                killer = threading.Thread(target=end_whoever_waits)
                killer.start()
                with pytest.raises(psycopg.OperationalError):
                    sink.write(batch, batch_id)
                killer.join()
            with psycopg.connect() as other:
                assert (
                    other.execute(
                        "select * from out.commits where batch_id >= %s", [batch_id]
                    ).fetchall()
                    == []
                )
            died.append(batch_id)
        for _ in range(2):
            sink.write(batch, batch_id)
        tables.write(batch, batch_id)
        batch.unpersist()

    log = list(checked(read_events(DATA / name / "events.jsonl"), pipeline))
    raw = one_file_a_batch(spark, batches(log, 5, pipeline), folder)
    finish(emissions(raw, pipeline), write, folder)
    assert died
    verdict = verify(pipeline, read_events(DATA / name / "events.jsonl"), read_postgres(pipeline))
    assert verdict.ok, "\n".join(verdict.lines())
    with psycopg.connect() as connection:
        assert connection.execute("select count(*) from out.commits").fetchone() == (1,)
    found = RunTables(PostgresColumns(pipeline, Path(), "r1"))
    wanted = RunTables(TableColumns(pipeline, folder / "t", "r1"))
    for query in pipeline.flows:
        assert_same_rows(found.rows(query), wanted.rows(query))
    names = [query.name for query in pipeline.flows]
    assert_same_rows(found.counts(names), wanted.counts(names))


@pytest.mark.usefixtures("postgres")
def test_batches_that_were_not_committed_yet_can_be_left_out() -> None:
    from windowing.engine.reading.batches import batches, checked
    from windowing.runtime.local import LocalEngine
    from windowing.runtime.output import tagged
    from windowing.spark.sinks import PostgresSink

    pipeline = with_sink(CORE)
    log = list(checked(read_events(DATA / CORE / "events.jsonl"), pipeline))
    engine, sink, fed = LocalEngine(pipeline), PostgresSink(pipeline, "out", "r1"), 0
    for number, batch in enumerate(batches(log, 5, pipeline)):
        sink.take([frame for sent in engine.feed(batch) for frame in tagged(sent)], number)
        fed = number + 1
    assert fed > 3
    for before in (1, 3, fed):
        found = read_postgres(pipeline, "r1", before=before)
        verdict = verify(pipeline, log[: 5 * before], found)
        assert verdict.ok, "\n".join(verdict.lines())


def assert_same_rows(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    """Quality sees the same frames, whichever sink wrote them; tables keep no order."""

    def spelled(frame: pd.DataFrame) -> list[str]:
        return sorted(str(list(row)) for row in frame.itertuples(index=False))

    assert dict(found.dtypes) == dict(wanted.dtypes)
    assert spelled(found) == spelled(wanted)


def filled(run: str, *cuts: int) -> None:
    sink = PostgresSink(PIPELINE, PIPELINE.output, run)
    for number, frames in enumerate(batches(*cuts)):
        sink.take(frames, number)


def told(statement: str) -> Sequence[tuple[object, ...]]:
    with psycopg.connect() as connection:
        return connection.execute(statement).fetchall()  # type: ignore[call-overload]


def test_a_batch_and_its_token_are_one_transaction(postgres: str) -> None:
    assert PostgresSink.kept(PIPELINE, Path(), "r1").tables == dict.fromkeys(NAMES)
    filled("r1", 3, 7, 9)
    found = PostgresSink.kept(PIPELINE, Path(), "r1")
    assert [*found.tokens] == [0, 1, 2]
    assert found.tokens[1].lanes == {"s/0": Stretch(3, 6)}
    assert found.tables == dict.fromkeys(NAMES, Kept(2))
    rows = told("select count(*) from p.q")
    filled("r1", 3, 7, 9)
    assert told("select count(*) from p.q") == rows

    with pytest.raises(TokenMismatch, match=r"s/0: 3 to 6.* planned .*s/0: 3 to 7"):
        filled("r1", 3, 8)
    *_, skipping = batches(3, 7, 9, 12, 14)
    with pytest.raises(TokenMismatch, match=r"ends with batch 2 .*brings batch 4"):
        PostgresSink(PIPELINE, PIPELINE.output, "r1").take(skipping, 4)
    assert told("select batch_id from p.commits") == [(2,)]
    assert told("select max(batch_id) from p.tokens") == [(2,)]
    assert told("select count(*) from p.q") == rows

    with psycopg.connect() as connection:
        connection.execute("drop table p.never cascade")
    checkpoint = Checkpoint("c", 2, 2, {})
    (said,) = compare(
        checkpoint,
        PostgresSink.kept(PIPELINE, Path(), "r1"),
        {},
        known={},
        may_be_compacted=frozenset(),
        fingerprint=PIPELINE.fingerprint,
    ).mismatches
    assert "table never in PostgreSQL schema p is missing" in said


ADDED_SINK = "sink: {postgres: out}"
BEFORE, AFTER = (parse_pipeline(text + ADDED_SINK) for text in (TEXT, TEXT + ADDED))


def test_it_is_verified_and_counted_like_any_other(postgres: str) -> None:
    engine, last = begun(PostgresSink(BEFORE, "out", "r1")), CUT // ROWS - 1
    begin_tables(RunPlace(AFTER, "r1", Path(), is_live=lambda: False), last, ["added"])
    assert PostgresSink.kept(AFTER, Path(), "r1").tables["added"] == Kept(last)
    gone_on(PostgresSink(AFTER, "out", "r1"), engine)
    output = read_postgres(AFTER, "r1")
    verdict = verify(AFTER, LOG, output)
    assert verdict.ok, "\n".join(verdict.lines())
    assert output.counts is not None
    assert output.counts["added"]["outside"] == 90


RUNS, RUN = 12, "simulated"


class PostgresJob(SimulatedJob):
    """Writes each batch to PostgreSQL, too; its driver dies in a transaction, and behind it."""

    _there: PostgresSink | None

    def write_sink(self, batch: int, token: int, tables: Tables) -> None:
        if self._there is None:
            self._there = PostgresSink(
                self._pipeline,
                self._pipeline.output,
                RUN,
                self._token_of,
                self._in_transaction,
                on_written=self._behind,
            )
        self._there.take(self.emitted, batch)
        super().write_sink(batch, token, tables)

    def _adopt(self, pipeline: Pipeline) -> None:
        super()._adopt(pipeline)
        self._there = None

    def _restart(self, workers: int = 0, *, keep_workers: bool = False) -> None:
        super()._restart(workers, keep_workers=keep_workers)
        self._there = None

    def _token_of(self, batch: int) -> Any:
        return token(self._pipeline, self.planned, batch)

    def _in_transaction(self) -> bool:
        # It is asked when the sink is opened, too.
        if self._there is not None:
            self._fate.pass_by("driver dies among the tables")
            self._fate.pass_by("sink refuses", workers=False)
        return True

    def _behind(self, batch: WrittenBatch) -> None:
        del batch
        self._fate.pass_by("sink does not answer", workers=False)


def in_postgres() -> Iterator[Case]:
    """Yield drawn cases whose columns have names that PostgreSQL's tables can have."""
    for number in count():
        with suppress(PipelineError):
            yield _in_postgres(draw_case(20_27, number, EngineParts()), f"run_{number}")


def _in_postgres(drawn: Case, schema: str) -> Case:
    document = yaml.safe_load(drawn.pipeline) | {"sink": {"postgres": schema}}
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    parse_pipeline(text)
    return msgspec.structs.replace(drawn, pipeline=text, disk=False)


def test_postgres_holds_what_simulated_runs_have_sent(postgres: str) -> None:
    found = 0
    for case in islice(in_postgres(), RUNS):
        jobs: list[PostgresJob] = []

        def make(*args: Any, jobs: list[PostgresJob] = jobs) -> PostgresJob:
            jobs.append(PostgresJob(*args))
            return jobs[0]

        history = history_of(case, EngineParts(job=make))
        assert history.error is None or history.commits is not None
        if jobs[0].commits == 0:
            continue
        output = read_postgres(jobs[0]._pipeline, RUN)
        batches = history.batches.values()
        assert sorted(output.rows) == sorted(line for one in batches for line in one.rows)
        assert sorted(output.dead) == sorted(line for one in batches for line in one.dead)
        found += 1
    assert found > RUNS // 2
