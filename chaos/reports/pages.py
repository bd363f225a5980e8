"""Pages from the templates of this package, each one self-contained file, and folders of them.

Users may name any folder. The first report puts a marker into it; nothing is written to a folder
that has other files and no marker.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, select_autoescape

from windowing.files.whole_files import whole_files

MARKER: Final = ".slackwater-report"


def page(template: str, **values: object) -> str:
    """Fill a template, escaping values in HTML."""
    environment = Environment(
        loader=PackageLoader("chaos.reports", "templates"),
        autoescape=select_autoescape(["html.j2"]),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)


def write_report(folder: Path, name: str, data: object, html: str) -> Path:
    """Write a report as `NAME.json` and `NAME.html`, together; return the page's path.

    Raises:
        WriteError: the files cannot be written.
    """
    write_together(folder, {f"{name}.json": as_json(data), f"{name}.html": html})
    return folder / f"{name}.html"


def as_json(data: object) -> str:
    """Spell the data of a report."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def embedded(png: Path) -> str:
    """Return a picture as pages have it: in base64."""
    return base64.b64encode(png.read_bytes()).decode()


def write_together(folder: Path, contents: Mapping[str, str | bytes]) -> None:
    """Write files atomically and together: a killed command leaves the old ones, or none.

    The folder exists; text becomes UTF-8.

    Raises:
        WriteError: the files cannot be written.
    """
    with whole_files(*(folder / name for name in contents)) as files:
        for file, content in zip(files, contents.values(), strict=True):
            file.write(content.encode() if isinstance(content, str) else content)


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
    if "<title>chaos reports</title>" in _text(folder / "index.html"):
        return True
    try:
        found = json.loads(_text(folder / "report.json"))
    except ValueError:
        return False
    return isinstance(found, dict) and {"plan", "outcome", "command", "checks"} <= found.keys()


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
