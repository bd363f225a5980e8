"""The path of Flink SQL, in Flink's own environment: `python -m benchmarks.flink_sql TASK`.

Standard library and PyFlink only. The task is JSON: `lines` (the folder of events), `window`
(`range_ms` and `slide_ms`, or `gap_ms`), `delay_ms`, `parallelism`, `warm_up` (another folder of
events, run first; optional), `answer` (the file for the time taken), `out` (the folder for rows as
CSV; without one they are discarded).
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from pyflink.table import EnvironmentSettings, TableEnvironment

_ROW = "start_ms BIGINT, end_ms BIGINT, `key` STRING, n BIGINT, total BIGINT, largest BIGINT"
_BY_TIME = "DESCRIPTOR(event_time)"
_AGGREGATES = "COUNT(*), SUM(amount), MAX(amount)"


def main(task: dict[str, Any]) -> None:
    """Run the task."""
    with tempfile.TemporaryDirectory(prefix="slackwater-benchmark-") as checkpoints:
        tables = _environment(task, checkpoints)
        if "warm_up" in task:
            _run(tables, task, task["warm_up"], "warm_up")
        took_ms = _run(tables, task, task["lines"], "measured")
    Path(task["answer"]).write_text(json.dumps({"took_ms": took_ms}), encoding="utf-8")


def _environment(task: dict[str, Any], checkpoints: str) -> TableEnvironment:
    settings = {
        "parallelism.default": str(task["parallelism"]),
        "table.local-time-zone": "UTC",
        # Exactly once, like the other paths, with as many checkpoints as they have batches.
        "execution.checkpointing.interval": "2 s",
        "execution.checkpointing.dir": f"file://{checkpoints}",
        "taskmanager.numberOfTaskSlots": str(task["parallelism"]),
        "taskmanager.memory.managed.size": "512m",
        "taskmanager.memory.network.max": "128m",
    }
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, value in settings.items():
        tables.get_config().set(name, value)
    return tables


def _run(tables: TableEnvironment, task: dict[str, Any], lines: str, name: str) -> int:
    """Run the windows over a folder of events; return the job's own time in milliseconds."""
    tables.execute_sql(f"""
        CREATE TABLE {name} (
            ts BIGINT, `key` STRING, amount BIGINT, event_time AS TO_TIMESTAMP_LTZ(ts, 3),
            WATERMARK FOR event_time AS event_time - INTERVAL '{task["delay_ms"] / 1_000}' SECOND
        ) WITH ('connector' = 'filesystem', 'path' = 'file://{lines}', 'format' = 'json',
            'source.path.regex-pattern' = '.*[.]json')
    """)
    sink = f"{name}_rows"
    to_files = "out" in task and name == "measured"
    where = (
        f"'connector' = 'filesystem', 'path' = 'file://{task['out']}', 'format' = 'csv'"
        if to_files
        else "'connector' = 'blackhole'"
    )
    tables.execute_sql(f"CREATE TABLE {sink} ({_ROW}) WITH ({where})")
    bounds = ", ".join(
        f"CAST(EXTRACT(EPOCH FROM {end}) * 1000 + EXTRACT(MILLISECOND FROM {end}) AS BIGINT)"
        for end in ("window_start", "window_end")
    )
    done = tables.execute_sql(
        f"INSERT INTO {sink} SELECT {bounds}, `key`, {_AGGREGATES} "  # noqa: S608 - our own text
        f"FROM TABLE({_windows(task['window'], name)}) GROUP BY `key`, window_start, window_end"
    )
    done.wait()
    return int(done.get_job_client().get_job_execution_result().result().get_net_runtime())


def _windows(window: dict[str, int], name: str) -> str:
    """Return the table function of a window; lengths are in milliseconds."""
    lengths = {key: f"INTERVAL '{value / 1_000}' SECOND(9, 3)" for key, value in window.items()}
    if "gap_ms" in window:
        return (
            f"SESSION(TABLE {name} PARTITION BY `key`, DESCRIPTOR(event_time), {lengths['gap_ms']})"
        )
    return (
        f"HOP(TABLE {name}, DESCRIPTOR(event_time), {lengths['slide_ms']}, {lengths['range_ms']})"
    )


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
