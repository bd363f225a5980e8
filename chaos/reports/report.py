"""The report of a run: one self-contained HTML file, JSON, and JUnit XML for CI."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, select_autoescape

from chaos.history import EntryKind
from chaos.reports.junit import Bad, Case, document, suite
from chaos.reports.pages import as_json, write_together
from chaos.reports.timeline import timeline
from chaos.run.runner import RunReport
from chaos.verdict.check import Outcome

_OF_FAULTS: tuple[EntryKind, ...] = (
    "fault",
    "no_effect",
    "unsupported",
    "named",
    "healed",
    "recovered",
    "stuck",
)


def write_report(report: RunReport, folder: Path) -> Path:
    """Write `report.html`, `report.json` and `junit.xml`; return the page's path.

    The folder exists, and may contain `history.jsonl`.
    """
    contents: dict[str, str | bytes] = {
        "report.json": as_json(as_data(report)),
        "junit.xml": document(junit(report)),
        "report.html": html(report),
    }
    write_together(folder, contents)
    return folder / "report.html"


def as_data(report: RunReport) -> dict[str, Any]:
    """Return the report as plain data, without the history of batches."""
    return {
        "plan": report.plan.model_dump(mode="json"),
        "seed": report.seed,
        "commit": report.commit,
        "began": report.began,
        "outcome": report.outcome,
        "command": report.command,
        "checks": [asdict(check) for check in report.checks],
        "faults": fault_rows(report),
    }


def fault_rows(report: RunReport) -> list[dict[str, Any]]:
    """Return a row per attempted fault: what was done and observed, and how long recovery took."""
    rows: dict[int, dict[str, Any]] = {}
    for entry in report.history.of(*_OF_FAULTS):
        row = rows.setdefault(entry["fault"], {"name": entry["name"], "at_s": entry.at_s})
        match entry.kind:
            case "fault":
                row.update(evidence=entry["evidence"], batches_before=entry["batches"])
            case "no_effect":
                row.update(no_effect=entry["why"])
            case "unsupported":
                row.update(unsupported=entry["why"])
            case "named":
                row.update(said=entry["said"], wanted=entry["wanted"])
            case "healed":
                row.update(healed=entry["evidence"])
            case "recovered":
                row.update(recovered_s=round(entry["seconds"], 1), batches=entry["batches"])
    return [rows[number] for number in sorted(rows)]


_BAD: Final[dict[Outcome, Bad]] = {
    Outcome.failed: "failure",
    Outcome.unknown: "error",
    Outcome.unsupported: "skipped",
}


def junit(report: RunReport) -> ET.Element:
    """Return the checks as test cases: unknown ones are errors, unsupported ones are skipped."""
    cases = (
        Case(
            report.plan.name,
            check.name,
            _BAD.get(check.outcome),
            check.detail,
            "\n".join((check.detail, *check.evidence, f"again: {report.command}")),
        )
        for check in report.checks
    )
    return suite(f"chaos {report.plan.name}", cases, report.began)


def html(report: RunReport) -> str:
    """Return the report as an HTML page."""
    environment = Environment(
        loader=PackageLoader("chaos.reports", "templates"),
        autoescape=select_autoescape(["html", "j2"], default=True),
    )
    end = next(report.history.of("end"), None)
    return environment.get_template("report.html.j2").render(
        report=report,
        faults=fault_rows(report),
        timeline=timeline(report.history),
        end=end["state"] if end else "not reached",
    )
