"""Pages from the templates of this package, each one self-contained file, and folders of them.

Users may name any folder. The first report puts a marker into it; nothing is written to a folder
that has other files and no marker. A folder of reports has an index page.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, select_autoescape

from chaos.verdict.check import Outcome
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


def write_contents(folder: Path) -> dict[str, str]:
    """Write `index.html` with links to every `*/report.json` and its `report.html`.

    Args:
        folder: has one folder per report; created if missing.

    Returns:
        the outcome of each report by the name of its folder; `unknown` if it cannot be read.

    Raises:
        ReportFolderError: the folder holds something else.
    """
    claim(folder)
    reports = [read_report(file) for file in sorted(folder.glob("*/report.json"))]
    text = page("contents.html.j2", reports=reports)
    write_together(folder, {"index.html": text})
    return {report["folder"]: report["outcome"] for report in reports}


def read_report(file: Path) -> dict[str, Any]:
    """Read what the index shows of a report: its checks, and its faults by name.

    A report that cannot be read is `unknown`, with the problem.
    """
    name = file.parent.name
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
        return {
            "folder": name,
            "outcome": Outcome(report["outcome"]).value,
            "began": report.get("began", ""),
            "command": report["command"],
            "commit": report.get("commit", ""),
            "checks": report["checks"],
            "faults": _by_name(report.get("faults", [])),
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = f"the report cannot be read: {type(error).__name__}: {error}"
        return {"folder": name, "outcome": Outcome.unknown.value, "problem": problem}


def _by_name(faults: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for fault in faults:
        found.setdefault(fault["name"], []).append(fault)
    return [
        {
            "name": name,
            "struck": sum("evidence" in fault for fault in alike),
            "planned": len(alike),
            "evidence": next((fault["evidence"] for fault in alike if "evidence" in fault), ""),
            "unsupported": next((f["unsupported"] for f in alike if "unsupported" in f), ""),
            "seconds": sorted(f["recovered_s"] for f in alike if "recovered_s" in f),
            "batches": sorted(f["batches"] for f in alike if "recovered_s" in f),
        }
        for name, alike in found.items()
    ]
