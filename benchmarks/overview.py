"""How long `slackwater overview` takes on a run of a year: first, again, and after a new batch.

Each is a process of its own, as a page starts it. The run's tables and folder are as its sink would
have left them, except that batches and their times are invented.
`python -m benchmarks.overview --help`.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import typer
from deltalake import DeltaTable

from infra.layout import STATE_DIR_VARIABLE
from jobs.runs.folder import Run, write_note
from windowing.model import Pipeline, load_pipeline
from windowing.runtime.token import Stretch, Token
from windowing.spark.sinks.data_files import RUN, write_file
from windowing.spark.sinks.rows import DEAD_LETTERS, METRICS, schemas
from windowing.spark.sinks.table_log import TableLog

HOUR_US = 3_600_000_000
YEAR_US = 8_766 * HOUR_US

TEXT = """
name: old
source:
  topic: events
  partitions: {lanes}
  format: json
  event_time: {{field: ts, unit: us}}
  fields: {{place: string, amount: "int?"}}
  disorder: {{slack: 1 hour}}
late: {{policy: update, every: 1 hour}}
retention: 12 hours
queries:
  hourly:
    window: RANGE 1 hour SLIDE 1 hour WATTR ts
    group_by: [place]
    aggregates: {{n: count, total: sum(amount)}}
sink: {{table: old}}
"""


class OldRun:
    """A run that is a year old.

    Args:
        batches: number of batches, spread over the year; each leaves a file in each table.
    """

    def __init__(self, state_dir: Path, *, lanes: int, batches: int, rows: int) -> None:
        self.file, self.tables = state_dir / "old.yml", state_dir / "tables" / "old"
        self._folder = state_dir / "runs" / "old" / "r1"
        self._lanes, self._batches, self._rows = lanes, batches, rows // batches
        self._now_us = int(datetime.now(UTC).timestamp()) * 1_000_000

    def make(self) -> None:
        """Write all of it."""
        self._folder.mkdir(parents=True)
        for file in (self.file, self._folder / self.file.name):
            file.write_text(TEXT.format(lanes=self._lanes), encoding="utf-8")
        pipeline = load_pipeline(self.file)
        logs = {
            name: _created(self.tables / name, schema) for name, schema in schemas(pipeline).items()
        }
        for batch in range(self._batches):
            self.add(pipeline, logs, batch)
        self._note()
        self._checkpoint(pipeline)

    def add(self, pipeline: Pipeline, logs: dict[str, TableLog], batch: int) -> None:
        """Write a batch to all tables."""
        token = Token(batch, {"events/0": Stretch(batch, batch)})
        for name, rows in self._tables(pipeline, batch):
            file = write_file(self.tables, name, rows, logs[name].schema)
            logs[name].append([file], token)

    def logs(self, pipeline: Pipeline) -> dict[str, TableLog]:
        """Return the logs of its tables, to add more."""
        return {name: TableLog(self.tables / name, "r1") for name in schemas(pipeline)}

    def at_us(self, batch: int) -> int:
        """Return when a batch was written."""
        return self._now_us - YEAR_US + YEAR_US * (batch + 1) // self._batches

    def _tables(self, pipeline: Pipeline, batch: int) -> Iterator[tuple[str, pa.Table]]:
        random, at_us, many = np.random.default_rng(batch), self.at_us(batch), self._rows
        begin = at_us // HOUR_US * HOUR_US - 2 * HOUR_US
        ends = begin - random.integers(0, 24, many) * HOUR_US
        late = random.random(many) < 0.05
        rows = {
            "query": ["hourly"] * many,
            "window_id": ends // HOUR_US - 1,
            "window_start": ends - HOUR_US,
            "window_end": ends,
            "key": [{"place": f"place {n}"} for n in random.integers(0, 5_000, many)],
            "pane": np.where(late, "late", "full"),
            "revision": late.astype(np.int64),
            "records": random.integers(1, 90, many),
            "offsets": [[{"lane": "events/0", "first": batch, "last": batch + 9}]] * many,
            "values": [{"n": 5, "total": 9}] * many,
            "lag_us": at_us - ends,
        }
        yield "hourly", _table(schemas(pipeline)["hourly"], rows, batch, many)
        lanes = self._lanes
        metrics = {
            "lane": [f"events/{n}" for n in range(lanes)],
            "query": ["hourly"] * lanes,
            "read": [1_000] * lanes,
            "applied": [990] * lanes,
            "dead": [10] * lanes,
            "first_offset": [batch * 1_000] * lanes,
            "last_offset": [batch * 1_000 + 999] * lanes,
            "progress_us": begin - np.arange(lanes) * 1_000_000,
            **dict.fromkeys(("outside", "dropped", "redelivered"), [0] * lanes),
            "ended": [False] * lanes,
        }
        yield METRICS, _table(schemas(pipeline)[METRICS], metrics, batch, lanes)
        dead = {
            "source": ["events"] * 5,
            "partition": [0] * 5,
            "offset": range(batch * 5, batch * 5 + 5),
            "query": [None] * 5,
            "reason": ["bad_type", "malformed", "bad_type", "time_ahead", "bad_type"],
            "field": ["amount"] * 5,
            "value": ['"twelve"'] * 5,
            "rule": ["an int"] * 5,
        }
        yield DEAD_LETTERS, _table(schemas(pipeline)[DEAD_LETTERS], dead, batch, 5)

    def _note(self) -> None:
        began = datetime.fromtimestamp((self._now_us - YEAR_US) / 1e6, UTC)
        checkpoint, file = self._folder / "checkpoint", self._folder / self.file.name
        places = (self._folder, checkpoint, self.tables, file)
        write_note(Run("old", "r1", "driver-1", *places, submitted_at=began))

    def _checkpoint(self, pipeline: Pipeline) -> None:
        ends = {str(lane): self._batches * 1_000 for lane in range(pipeline.source.partitions)}
        for name, text in (("offsets", json.dumps({"events": ends})), ("commits", "v1\n{}")):
            folder = self._folder / "checkpoint" / name
            folder.mkdir(parents=True)
            (folder / str(self._batches - 1)).write_text(text, encoding="utf-8")


def _created(folder: Path, schema: pa.Schema) -> TableLog:
    DeltaTable.create(str(folder), schema, mode="ignore", partition_by=[RUN])
    return TableLog(folder, "r1")


def _table(schema: pa.Schema, columns: dict[str, object], batch: int, rows: int) -> pa.Table:
    known = {"run": ["r1"] * rows, **columns, "batch_id": [batch] * rows}
    nothing = [None] * rows  # a column of marks, such as of sums that overflow
    arrays = [pa.array(known.get(field.name, nothing)).cast(field.type) for field in schema]
    return pa.table(arrays, schema=schema)


def main(
    lanes: Annotated[int, typer.Option(help="Number of lanes.")] = 64,
    batches: Annotated[int, typer.Option(help="Number of batches, over a year.")] = 4_000,
    rows: Annotated[int, typer.Option(help="Number of rows.")] = 4_000_000,
    rounds: Annotated[int, typer.Option(help="How often each is measured.")] = 5,
) -> None:
    """Measure it; seconds of the wall clock, and of the processor."""
    with tempfile.TemporaryDirectory(prefix="slackwater-overview-") as folder:
        old = OldRun(Path(folder), lanes=lanes, batches=batches, rows=rows)
        old.make()
        print(f"{lanes} lanes, {batches:,} batches, {rows:,} rows")
        pipeline = load_pipeline(old.file)
        logs = old.logs(pipeline)
        for number in range(rounds):
            (Path(folder) / "runs/old/r1/overview_cache.json").unlink(missing_ok=True)
            first, again = _took(old.file), _took(old.file)
            old.add(pipeline, logs, batches + number)
            print(f"first {first}; again {again}; after a batch {_took(old.file)}")


def _took(file: Path) -> str:
    command = [str(Path(sys.executable).with_name("slackwater")), "overview", str(file), "--json"]
    began, before = time.perf_counter(), _processor_s()
    environment = {**os.environ, STATE_DIR_VARIABLE: str(file.parent)}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return f"{time.perf_counter() - began:.2f} s ({_processor_s() - before:.2f} s of processor)"


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    typer.run(main)
