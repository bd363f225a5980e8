"""Flink's SQL windows, in Flink's own environment, for `flink.py`: PyFlink and nothing of ours.

A line of JSON on standard input asks: `windows` (`tvf` or `group`), `size` and `slide` in units of
time, and `inputs`: for each a list of times. The answer is a line of JSON on standard output:
`rows`, for each input `[after, ids]` as Flink sent them, where `after` is the number of tuples that
had arrived (null: sent at the end of the input); or `refused`, with Flink's reason.

After which tuple a row was sent is read from Flink's own watermark. A unit of time has ten seconds;
each tuple comes in the middle of its unit, and moves the watermark to the unit's beginning and as
many milliseconds as its number. So all windows that end there are closed, none that a later tuple
of the same time falls into, and each watermark names its tuple.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.util.exceptions import TableException
from pyflink.version import __version__

_UNIT_S = 10
_SETTINGS = {
    "parallelism.default": "1",
    "table.local-time-zone": "UTC",
    # A watermark after each tuple, and not by a timer.
    "pipeline.auto-watermark-interval": "0",
    "taskmanager.memory.managed.size": "128m",
    "taskmanager.memory.network.max": "256m",
}


def main(folder: Path) -> None:
    """Answer each line, until there are no more; temporary files are in the folder."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # Flink and its JVM print too
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, value in _SETTINGS.items():
        tables.get_config().set(name, value)
    answers.write(json.dumps({"version": __version__}) + "\n")
    answers.flush()
    for line in sys.stdin:
        answers.write(json.dumps(_answer(tables, json.loads(line), folder)) + "\n")
        answers.flush()


def _answer(tables: TableEnvironment, task: dict[str, Any], folder: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=folder) as inputs:
        names = [f"input_{number}" for number in range(len(task["inputs"]))]
        for name, times in zip(names, task["inputs"], strict=True):
            _create(tables, name, times, Path(inputs))
        try:
            return {"rows": _run(tables, task, names)}
        except TableException as error:
            if "Caused by" in error.stack_trace:
                raise  # no rule of Flink's: something has failed
            return {"refused": error.stack_trace.splitlines()[0].partition(": ")[2]}
        finally:
            for name in names:
                tables.execute_sql(f"DROP TABLE {name}")


def _create(tables: TableEnvironment, name: str, times: Sequence[int], folder: Path) -> None:
    ms = 1_000 * _UNIT_S
    lines = [f"{n},{time * ms + ms // 2},{time * ms + n}\n" for n, time in enumerate(times, 1)]
    (folder / f"{name}.csv").write_text("".join(lines), encoding="utf-8")
    tables.execute_sql(f"""
        CREATE TABLE {name} (
            number INT, at_ms BIGINT, passed_ms BIGINT, at_ AS TO_TIMESTAMP_LTZ(at_ms, 3),
            WATERMARK FOR at_ AS TO_TIMESTAMP_LTZ(passed_ms, 3)
        ) WITH ('connector' = 'filesystem', 'path' = 'file://{folder}/{name}.csv',
            'format' = 'csv')
    """)


def _run(tables: TableEnvironment, task: dict[str, Any], names: Sequence[str]) -> list[Any]:
    query = " UNION ALL ".join(
        f"SELECT {place}, ids, EXTRACT(EPOCH FROM seen), EXTRACT(MILLISECOND FROM seen) "  # noqa: S608 - our own text
        f"FROM (SELECT ids, CURRENT_WATERMARK(closed) AS seen FROM ({_windows(task, name)}))"
        for place, name in enumerate(names)
    )
    lengths = [len(times) for times in task["inputs"]]
    found: list[list[Any]] = [[] for _ in names]
    for place, ids, *seen in tables.execute_sql(query).collect():
        # A row is sent before the watermark that closes it goes on: the newest one here is that of
        # the tuple before.
        after = 1 if seen[0] is None else (seen[0] % _UNIT_S * 1_000 + seen[1]) + 1
        found[place].append([after if after <= lengths[place] else None, list(ids)])
    return found


def _windows(task: dict[str, Any], name: str) -> str:
    """Return the query of one input: the ids of each window, and a time attribute of it."""
    slide, size = (f"INTERVAL '{task[key] * _UNIT_S}' SECOND(9)" for key in ("slide", "size"))
    if task["windows"] == "group":
        by = f"at_, {slide}, {size}"
        return (
            f"SELECT ARRAY_AGG(number) AS ids, HOP_ROWTIME({by}) AS closed "  # noqa: S608 - our own text
            f"FROM {name} GROUP BY HOP({by})"
        )
    return (
        f"SELECT ARRAY_AGG(number) AS ids, window_time AS closed "  # noqa: S608 - our own text
        f"FROM TABLE(HOP(TABLE {name}, DESCRIPTOR(at_), {slide}, {size})) "
        "GROUP BY window_start, window_end, window_time"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
