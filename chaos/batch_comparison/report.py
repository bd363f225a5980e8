"""The report of a batch comparison: a self-contained page, its figure, and JSON."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from chaos.batch_comparison.picture import draw
from chaos.batch_comparison.run import CutsReport
from chaos.reports.pages import embedded, page, write_report


def write_cuts(report: CutsReport, folder: Path) -> Path:
    """Write `report.html`, `report.json` and `cuts.png`; return the page's path."""
    png = folder / "cuts.png"
    draw(report, png)
    html = page("cuts.html.j2", report=report, picture=embedded(png))
    return write_report(folder, "report", as_data(report), html)


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
