"""What the checks of a run found, and their history: a line of JSON per expectation."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from infra.locks import locked
from windowing.files.whole_files import whole_file

FILE: Final = "quality_history.jsonl"
"""Name of the file in the run's folder."""

EVERY_QUERY: Final = "*"
"""Stands for the query of an expectation that judges the records of all."""

LINES_MAX: Final = 10_000
"""Lines to keep: six weeks of hourly checks of ten expectations, newest last."""

_SLACK: Final = 1_000
"""Further lines before the oldest are deleted."""

_TO_PEOPLE: Final = ("severity", "notes", "description")
"""Arguments of every expectation that decide nothing."""


class QualityError(RuntimeError):
    """A folder of Data Docs that cannot be used, so that nothing could be checked."""

    exit_code = 1


@dataclass(frozen=True)
class QualityResult:
    """The result of one entry of the block.

    Attributes:
        query: the query whose rows were judged; None: the records of every query.
        success: whether it was met; False if it could not be evaluated.
        detail: the observed value, in one line.
        threshold: the arguments in the file, in one line; None: it has none.
    """

    query: str | None
    expectation: str
    success: bool
    detail: str
    threshold: str | None = None

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        expected = self.expectation.removeprefix("expect_").replace("_", " ")
        given = f" ({self.threshold})" if self.threshold else ""
        met = "met" if self.success else "not met"
        return f"{self.query or 'every query'}: {met}: {expected}{given}: {self.detail}"


@dataclass(frozen=True)
class QualityReport:
    """The results of all entries.

    Attributes:
        results: by entry, in the order of the file.
        rows: number of rows written for all queries, including provisional ones.
        final_until: by query, the instant up to which the judged windows are final, as in
            `chaos.quality.finality`; None: not known.
    """

    success: bool
    results: list[QualityResult]
    docs_index: Path
    rows: int
    final_until: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """Return a summary in one sentence."""
        wrong = [f"{one.query or '-'} {one.expectation}" for one in self.results if not one.success]
        holding = f"{len(self.results) - len(wrong)} of {len(self.results)} expectations hold"
        return ", not ".join([holding, *wrong])


def threshold(arguments: Mapping[str, Any]) -> str | None:
    """Spell an entry's arguments in one line; None: it has none that decide anything."""
    named = [f"{name} {value}" for name, value in arguments.items() if name not in _TO_PEOPLE]
    return ", ".join(named) or None


@dataclass(frozen=True)
class HistoryEntry:
    """What one check found of one expectation: a line of the file, with these names.

    Attributes:
        at: time of the check, in ISO 8601 and UTC; the same for all expectations of a check.
        query: whose rows were judged; `EVERY_QUERY`: the records of all.
    """

    at: str
    query: str
    expectation: str
    passed: bool
    observed: str | None
    threshold: str | None
    sentence: str


def keep(report: QualityReport, run_folder: Path, at: datetime | None = None) -> Path:
    """Append the results of a check; return the file.

    The lines of a check are appended by one write, and become readable together, unless the disk is
    full. From `LINES_MAX` lines and a tenth on, the oldest checks are deleted, as whole checks.

    Args:
        at: time of the check; None: now.

    Raises:
        OSError: the file cannot be written.
    """
    time = (at or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds")
    found = [
        HistoryEntry(
            at=time,
            query=result.query or EVERY_QUERY,
            expectation=result.expectation,
            passed=result.success,
            observed=result.detail,
            threshold=result.threshold,
            sentence=result.sentence,
        )
        for result in report.results
    ]
    file = run_folder / FILE
    text = "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in found).encode()
    run_folder.mkdir(parents=True, exist_ok=True)
    # Another check of the run would append to a file about to be replaced.
    with locked(run_folder):
        _append(file, text)
        _shorten(file)
    return file


def history(run_folder: Path) -> list[HistoryEntry]:
    """Return what the checks of a run have found, oldest first; none: it was not checked yet.

    A line that is cut off is left out; those of other versions may have further names.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        content = (run_folder / FILE).read_bytes()
    except FileNotFoundError:
        return []
    return [one for line in content.splitlines() if (one := _read(line)) is not None]


def _read(line: bytes) -> HistoryEntry | None:
    try:
        values = json.loads(line)
        return HistoryEntry(**{one.name: values[one.name] for one in fields(HistoryEntry)})
    except (ValueError, KeyError, TypeError):
        return None


def _append(file: Path, text: bytes) -> None:
    number = os.open(file, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o666)
    with os.fdopen(number, "r+b", buffering=0) as opened:
        size = os.fstat(number).st_size
        # A check that was cut off while it wrote has left part of a line.
        torn = size > 0 and os.pread(number, 1, size - 1) != b"\n"
        opened.write(b"\n" + text if torn else text)


def _shorten(file: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    if len(lines) <= LINES_MAX + _SLACK:
        return
    kept = lines[-LINES_MAX:]
    before, oldest = _read(lines[-LINES_MAX - 1]), _read(kept[0])
    if before is not None and oldest is not None and before.at == oldest.at:
        cut = (line for line in kept if (one := _read(line)) is None or one.at != oldest.at)
        kept = list(cut) or kept
    with whole_file(file) as written:
        written.writelines(kept)
