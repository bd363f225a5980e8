"""The report of an audit: a self-contained page, its picture, and JSON."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from chaos.audit.picture import draw
from chaos.audit.verdict import Audit, Verdict, WindowVerdict
from chaos.reports.pages import embedded, page, write_report

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def write_audit(audit: Audit, folder: Path, command: str) -> Path:
    """Write `report.html`, `report.json` and `audit.png`; return the page's path.

    The page says that `command` repeats it.
    """
    picture = ""
    if audit.windows:
        png = folder / "audit.png"
        draw(audit, png)
        picture = embedded(png)
    data = as_data(audit)
    html = page("audit.html.j2", audit=audit, data=data, picture=picture, command=command)
    return write_report(folder, "report", data, html)


def as_data(audit: Audit) -> dict[str, Any]:
    """Return the verdict as plain data: all windows that are not equal."""
    return {
        "engine": audit.job.engine.name,
        "query": audit.job.query.name,
        "ok": audit.ok,
        "windows": len(audit.windows),
        "verdicts": dict(audit.counts()),
        "undetermined": audit.undetermined,
        "records": audit.records,
        "unread": audit.unread,
        "told": [_window(one) for one in audit.windows if one.verdict is not Verdict.equal],
    }


def _window(one: WindowVerdict) -> dict[str, Any]:
    return {
        "start": _spelled(one.place.start_us),
        "end": _spelled(one.place.end_us),
        "key": list(one.place.key),
        "verdict": one.verdict,
        "why": one.why,
        "written": one.written,
        "most": one.most,
        "undecided": one.undecided,
    }


def _spelled(us: int) -> str:
    return (_EPOCH + timedelta(microseconds=us)).isoformat().replace("+00:00", "Z")
