"""One page that leads to all reports below a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from chaos.checks import Outcome
from chaos.pages import page


def write_contents(folder: Path) -> dict[str, str]:
    """Write `index.html` over every `*/report.json` with its `report.html`.

    Args:
        folder: holds one folder per report; made where it is missing.

    Returns:
        by the names of those folders, what each report came to; `unknown` where it cannot be read.
    """
    folder.mkdir(parents=True, exist_ok=True)
    reports = [_entry(file) for file in sorted(folder.glob("*/report.json"))]
    text = page("contents.html.j2", reports=reports)
    (folder / "index.html").write_text(text, encoding="utf-8")
    return {report["folder"]: report["outcome"] for report in reports}


def _entry(file: Path) -> dict[str, Any]:
    name = file.parent.name
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
        return {
            "folder": name,
            "outcome": Outcome(report["outcome"]).value,
            "began": report.get("began", ""),
            "command": report["command"],
            "checks": report["checks"],
        }
    except (ValueError, KeyError, TypeError) as error:
        problem = f"the report cannot be read: {type(error).__name__}: {error}"
        return {"folder": name, "outcome": Outcome.unknown.value, "problem": problem}
