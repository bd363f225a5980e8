"""The verdicts on a run, kept in its folder so that `slackwater runs` and `overview` show them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from jobs.runs.folder import Run, write_whole
from windowing.files.whole_files import whole_file

HISTORY_FILE: Final = "verdicts.jsonl"
"""File in a run's folder with all verdicts: a line of JSON each, as `note_verdict` writes it."""

_LINES_MAX: Final = 1_000
_SPARE: Final = 100
"""Number of further lines before the oldest are deleted."""


class Judge(StrEnum):
    """The command that judged."""

    verify = "verify"
    quality = "quality"
    replay = "replay"


@dataclass(frozen=True)
class Verdict:
    """A verdict.

    Attributes:
        at: when, in ISO 8601 and UTC.
        passed: whether everything was as it should be.
    """

    at: str
    passed: bool
    sentence: str


def keep_verdict(
    run: Run, judge: Judge, *, passed: bool, sentence: str, href: Path | None = None
) -> None:
    """Store a verdict in the run's folder, as the last one of its kind and in the history.

    Args:
        judge: the command that judged.
        passed: whether everything was as it should be.
        href: the page of its report, if there is one.
    """
    verdict = Verdict(datetime.now(UTC).isoformat(timespec="seconds"), passed, sentence)
    write_whole(run.folder / f"last_{judge}.json", asdict(verdict))
    note_verdict(run.folder / HISTORY_FILE, judge, verdict, href)


def note_verdict(file: Path, kind: str, verdict: Verdict, href: Path | None) -> None:
    """Append a verdict to a history: `kind`, `at`, `passed`, `sentence`, `href`.

    Raises:
        OSError: the file cannot be written.
    """
    line = {"kind": str(kind), **asdict(verdict), "href": href and str(href)}
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as opened:
        opened.write(json.dumps(line, ensure_ascii=False) + "\n")
    lines = file.read_bytes().splitlines(keepends=True)
    if len(lines) > _LINES_MAX + _SPARE:
        with whole_file(file) as kept:
            kept.writelines(lines[-_LINES_MAX:])


def noted_verdicts(file: Path) -> list[dict[str, Any]]:
    """Return the verdicts of a history, the oldest first; a line that is torn is left out."""
    found = []
    for line in file.read_bytes().splitlines() if file.exists() else ():
        try:
            verdict = json.loads(line)
        except ValueError:  # its writer was killed
            continue
        found.append(verdict)
    return found


def audits_file(state_dir: Path, pipeline: str) -> Path:
    """Return the file with the verdicts of `audit` on the output that a pipeline file describes."""
    return state_dir / "audits" / f"{pipeline}.jsonl"


def last_verdict(run: Run, judge: Judge) -> Verdict | None:
    """Return the last verdict on a run; None: not judged yet."""
    try:
        text = (run.folder / f"last_{judge}.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    return Verdict(**json.loads(text))
