"""A Flink SQL job as somebody might have it, for Flink's environment: its argument is a task.

The task is JSON: `partitions` (files of JSON lines, each with a watermark of its own, as partitions
of a topic have), `delay_ms`, and `jobs`: for each `range_ms`, `slide_ms`, and `out`, a folder.
"""

from __future__ import annotations

import json
import sys
import tempfile
from typing import Any

from pyflink.table import EnvironmentSettings, TableEnvironment

_SETTINGS = {
    "parallelism.default": "1",
    "table.local-time-zone": "UTC",
    "execution.checkpointing.interval": "1 s",  # files are committed by checkpoints
}


def main(task: dict[str, Any]) -> None:
    """Run the jobs one after another."""
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    with tempfile.TemporaryDirectory() as checkpoints:
        settings = {**_SETTINGS, "execution.checkpointing.dir": f"file://{checkpoints}"}
        for name, value in settings.items():
            tables.get_config().set(name, value)
        names = [f"p{number}" for number in range(len(task["partitions"]))]
        for name, file in zip(names, task["partitions"], strict=True):
            tables.execute_sql(f"""
                CREATE TABLE {name} (
                    ts BIGINT, `key` STRING, amount BIGINT, at_ AS TO_TIMESTAMP_LTZ(ts, 3),
                    WATERMARK FOR at_ AS at_ - INTERVAL '{task["delay_ms"] / 1_000}' SECOND(3)
                ) WITH ('connector' = 'filesystem', 'path' = 'file://{file}', 'format' = 'json')
            """)
        every = " UNION ALL ".join(f"TABLE {name}" for name in names)
        tables.execute_sql(f"CREATE TEMPORARY VIEW orders AS {every}")
        for number, job in enumerate(task["jobs"]):
            _run(tables, f"windows_{number}", job)


def _run(tables: TableEnvironment, name: str, job: dict[str, Any]) -> None:
    tables.execute_sql(f"""
        CREATE TABLE {name} (
            window_start TIMESTAMP(3), `key` STRING, n BIGINT, total BIGINT, largest BIGINT
        ) WITH ('connector' = 'filesystem', 'path' = 'file://{job["out"]}', 'format' = 'json',
            'json.timestamp-format.standard' = 'ISO-8601')
    """)
    slide, range_ = (
        f"INTERVAL '{job[name] / 1_000}' SECOND(9, 3)" for name in ("slide_ms", "range_ms")
    )
    if job["slide_ms"] == job["range_ms"]:
        windows = f"TUMBLE(TABLE orders, DESCRIPTOR(at_), {range_})"
    else:
        windows = f"HOP(TABLE orders, DESCRIPTOR(at_), {slide}, {range_})"
    tables.execute_sql(f"""
        INSERT INTO {name}
        SELECT window_start, `key`, COUNT(*), SUM(amount), MAX(amount)
        FROM TABLE({windows}) GROUP BY window_start, window_end, `key`
    """).wait()  # noqa: S608 - our own text


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
