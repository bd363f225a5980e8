"""History of the checks of a run: a line of JSON per check, in the run's folder."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from chaos.quality.report import QualityReport
from windowing.whole_files import whole_file

FILE: Final = Path("quality") / "history.jsonl"
"""Path of the file in the run's folder."""

LINES_MAX: Final = 1_000
"""Number of results to keep: a week of checks every ten minutes."""

_SLACK: Final = 100
"""Number of further lines before the oldest are deleted."""


def keep(report: QualityReport, run_folder: Path, at: datetime | None = None) -> Path:
    """Append the results; return the file.

    A line has `at` (ISO 8601, UTC), `success`, `docs` (the first page of the Data Docs) and
    `results`, each with `query` (null: of every query), `expectation`, `success` and `detail`.

    Args:
        report: the results.
        run_folder: folder of the judged run.
        at: time of the check; None: now.

    Raises:
        OSError: the file cannot be written.
    """
    line = {
        "at": (at or datetime.now(UTC)).isoformat(timespec="seconds"),
        "success": report.success,
        "docs": str(report.docs_index),
        "results": [asdict(result) for result in report.results],
    }
    file = run_folder / FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as opened:
        opened.write(json.dumps(line, ensure_ascii=False) + "\n")
    lines = file.read_bytes().splitlines(keepends=True)
    if len(lines) > LINES_MAX + _SLACK:
        with whole_file(file) as kept:
            kept.writelines(lines[-LINES_MAX:])
    return file
