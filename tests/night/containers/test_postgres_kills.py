"""The PostgreSQL sink under SIGKILL: of the driver and of the data base, in mid-transaction."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from chaos.readers.log import read_events
from chaos.readers.postgres import read_postgres
from chaos.verdict.verify import verify
from infra.containers.session import Session
from infra.layout import ROOT
from tests.stack.containers.conftest import PATIENCE_S, await_postgres
from tests.stack.containers.test_postgres_sink import DATA, with_sink

CASE = "late-update-generous"
DRIVER = """
import sys
from pathlib import Path
from jobs.session import session
from tests.stack.containers.test_postgres_sink import with_sink
from windowing.spark.plan import RAW_SCHEMA, emissions
from windowing.spark.sinks import PostgresSink

name, source, checkpoint = sys.argv[1:]
pipeline = with_sink(name)
raw = session("killed", master="local[1]").readStream.schema(RAW_SCHEMA)
(
    emissions(raw.option("maxFilesPerTrigger", 1).parquet(source), pipeline)
    .writeStream.foreachBatch(PostgresSink(pipeline, "out", "r1").write)
    .outputMode("append")
    .option("checkpointLocation", checkpoint)
    .trigger(availableNow=True)
    .start()
    .awaitTermination()
)
"""


@contextmanager
def driver(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A driver in a process of its own, which goes on from the checkpoint; nothing outlives it."""
    command = [sys.executable, "-c", DRIVER, CASE, str(folder / "in"), str(folder / "checkpoint")]
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as started:
        try:
            yield started
        finally:
            if started.poll() is None:
                os.killpg(started.pid, signal.SIGKILL)


@contextmanager
def writes_held_up() -> Iterator[None]:
    """Let a batch write its rows, and hold it up before its counts: it is in its transaction."""
    holder = psycopg.connect()
    holder.execute("lock table out.metrics in exclusive mode")
    try:
        yield
    finally:
        holder.close()  # also where its server is gone


def somebody_waits() -> bool:
    with psycopg.connect(autocommit=True) as looking:
        found = looking.execute(
            "select 1 from pg_stat_activity where wait_event_type = 'Lock'"
            " and application_name = 'slackwater'"
        )
        return found.fetchone() is not None


def committed() -> int:
    with psycopg.connect() as looking:
        try:
            row = looking.execute("select max(batch_id) from out.commits").fetchone()
        except psycopg.errors.UndefinedTable:
            return -1
        return -1 if row is None or row[0] is None else int(row[0])


def until(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def write_batches(folder: Path) -> None:
    from jobs import file_run
    from windowing.engine.reading.batches import batches, checked

    (folder / "in").mkdir()
    log = list(checked(read_events(DATA / CASE / "events.jsonl"), with_sink(CASE)))
    for number, cut in enumerate(batches(log, 3)):
        file_run._write(folder / "in" / f"{number:09d}.parquet", cut, number)


def test_rows_are_there_once_though_driver_and_data_base_are_killed(
    postgres: str, box_session: Session, tmp_path: Path
) -> None:
    from windowing.spark.sinks import PostgresSink

    PostgresSink(with_sink(CASE), "out", "r1")  # makes the tables, so that they can be locked
    write_batches(tmp_path)
    with writes_held_up(), driver(tmp_path) as first:
        until(somebody_waits)
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    assert committed() == -1
    with driver(tmp_path) as second:
        until(lambda: committed() >= 0)
        with writes_held_up():
            until(somebody_waits)
            box_session.container(postgres).kill()
        assert second.wait(PATIENCE_S) != 0
    box_session.container(postgres).start()
    await_postgres()
    before = committed()
    with driver(tmp_path) as third:
        assert third.wait(2 * PATIENCE_S) == 0
    assert committed() > before >= 0
    pipeline = with_sink(CASE)
    verdict = verify(pipeline, read_events(DATA / CASE / "events.jsonl"), read_postgres(pipeline))
    assert verdict.ok, "\n".join(verdict.lines())
