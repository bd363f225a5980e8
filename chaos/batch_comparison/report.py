"""The report of a batch comparison: a self-contained page, its figure, and JSON."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chaos.batch_comparison.picture import draw
from chaos.batch_comparison.run import CutsReport
from chaos.reports.pages import page, write_together


def write_cuts(report: CutsReport, folder: Path) -> Path:
    """Write `report.html`, `report.json` and `cuts.png`; return the page's path.

    Args:
        report: the comparison.
        folder: an existing folder.
    """
    png = folder / "cuts.png"
    draw(report, png)
    text = json.dumps(as_data(report), indent=2, ensure_ascii=False) + "\n"
    picture = base64.b64encode(png.read_bytes()).decode()
    told = page("cuts.html.j2", report=report, picture=picture)
    write_together(folder, {"report.json": text, "report.html": told})
    return folder / "report.html"


def as_data(report: CutsReport) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "plan": report.plan.model_dump(mode="json"),
        "command": report.command,
        "records": report.records,
        "outcome": report.outcome,
        "checks": [asdict(check) for check in report.checks],
        "spark": report.spark.as_data(),
        "slackwater": report.ours.as_data(),
    }
