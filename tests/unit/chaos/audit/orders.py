"""Orders for other engines' jobs, what an audit says of their output, and planted defects."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from typer.testing import CliRunner

from slackwater.main import app

FILE = """
name: orders
source:
  topic: orders
  partitions: 2
  format: json
  event_time: {{field: ts, unit: ms}}
  fields: {{key: string, amount: int}}
  disorder: {{slack: 5 seconds}}
queries:
  per_key:
    window: RANGE {range_s} seconds SLIDE {slide_s} seconds WATTR ts
    group_by: [key]
    aggregates: {{n: count, total: sum(amount), largest: max(amount)}}
"""
EVENTS = 4_000
DELAY_MS = 5_000


def events() -> list[dict[str, int | str]]:
    """In the order of arrival: one in fifty up to half a minute late."""
    random_ = random.Random(7)
    return [
        {
            "ts": number * 100 - (random_.randrange(30_000) if random_.random() < 0.02 else 0),
            "key": f"k{random_.randrange(3)}",
            "amount": random_.randrange(-50, 50),
        }
        for number in range(EVENTS)
    ]


def write_log(folder: Path, *, range_s: int, slide_s: int) -> None:
    """Write the events over two partitions, and the description of the job."""
    (folder / "orders.yml").write_text(FILE.format(range_s=range_s, slide_s=slide_s))
    lines = (
        {"source": "orders", "partition": n % 2, "offset": n // 2, "value": event}
        for n, event in enumerate(events())
    )
    (folder / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def audited(like: str, folder: Path, output: Path, *more: str) -> tuple[int, str]:
    """Audit an output; return the exit code and what was said."""
    words = ["audit", "--like", like, str(folder / "orders.yml"), "--output", str(output)]
    words += ["--input", str(folder / "events.jsonl"), *more]
    done = CliRunner().invoke(app, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def report(like: str, folder: Path, output: Path) -> dict[str, Any]:
    """Audit what an engine wrote, which is possible; return the report."""
    code, said = audited(like, folder, output, "--report", str(folder / "page"))
    assert code == 0, said
    report: dict[str, Any] = json.loads((folder / "page" / "report.json").read_text())
    assert report["verdicts"]["impossible"] == report["verdicts"]["unproven"] == 0
    return report


def miscounted(rows: pl.DataFrame, place: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the rows with one record less, and with one more, in a row."""
    for why, change in (("lost", -1), ("doubled", 1)):
        here = pl.int_range(pl.len()) == place
        yield (
            why,
            rows.with_columns(pl.when(here).then(pl.col("n") + change).otherwise("n").alias("n")),
        )


def found_out(like: str, folder: Path, rows: pl.DataFrame, why: str) -> None:
    """Check that an output with one defect is rejected for it, and for nothing else."""
    output = folder / "defect.parquet"
    rows.write_parquet(output)
    code, said = audited(like, folder, output)
    assert (code, said.count("impossible: ")) == (1, 1), said
    assert why in said
