"""The index page of all reports below a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chaos.reports.pages import claim, page, write_together
from chaos.verdict.check import Outcome


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
