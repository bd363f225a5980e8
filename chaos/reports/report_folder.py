"""Ownership of report folders: never overwrite a file that no run wrote.

Users may name any folder. The first report puts a marker into it; nothing is written to a folder
that has other files and no marker.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

MARKER: Final = ".slackwater-report"


class ReportFolderError(ValueError):
    """A folder that holds something other than reports."""

    exit_code = 2


def claim(folder: Path) -> None:
    """Mark a folder as one for reports, whose files may be overwritten; create it if missing.

    It may contain folders of reports: then the index page of them is written to it.

    Raises:
        ReportFolderError: the folder contains something else, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / MARKER).exists():
            foreign = sorted(entry.name for entry in folder.iterdir() if not _is_report(entry))
            if foreign and not _is_older(folder):
                msg = (
                    f"{folder} holds {foreign[0]!r}, which no report made, and might be written "
                    "over: name a folder that is new or empty"
                )
                raise ReportFolderError(msg)
            (folder / MARKER).write_text("Reports of Slackwater.\n", encoding="utf-8")
    except OSError as error:
        msg = f"{folder} cannot be written ({error.strerror}): name another folder"
        raise ReportFolderError(msg) from error


def _is_report(entry: Path) -> bool:
    return (entry / MARKER).is_file() or (entry / "report.json").is_file()


def _is_older(folder: Path) -> bool:
    """Whether the folder has a report that was written before there were markers."""
    if "<title>chaos reports</title>" in _text(folder / "index.html"):
        return True
    try:
        found = json.loads(_text(folder / "report.json"))
    except ValueError:
        return False
    return isinstance(found, dict) and {"plan", "outcome", "command", "checks"} <= found.keys()


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
