"""The report of an audit: a self-contained page, its picture, and JSON."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import dates
from matplotlib.figure import Figure

from chaos.audit.verdict import Audit, Verdict, WindowVerdict
from chaos.reports.pages import embedded, page, write_report
from windowing.model.rows import in_row

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COLOURS = {
    Verdict.equal: "#2b7a4b",
    Verdict.explained: "#e0b34e",
    Verdict.unproven: "#9aa5b1",
    Verdict.impossible: "#d1495b",
}
_BARS_MAX = 240


def draw(audit: Audit, png: Path) -> None:
    """Draw stacked bars, each of the windows that begin in a stretch of event time.

    There is at least one window.
    """
    first_us = audit.windows[0].place.start_us
    last_us = audit.windows[-1].place.start_us
    width_us = max(audit.job.query.window.slide, -(-(last_us - first_us + 1) // _BARS_MAX))
    places = [_EPOCH + timedelta(microseconds=us) for us in range(first_us, last_us + 1, width_us)]
    with mpl.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(11, 4.2))
        panel: Any = figure.subplots()
        below = [0] * len(places)
        for verdict, colour in _COLOURS.items():
            counts = [0] * len(places)
            for one in audit.windows:
                if one.verdict is verdict:
                    counts[(one.place.start_us - first_us) // width_us] += 1
            if any(counts):
                label = f"{verdict} ({sum(counts):,})"
                width = timedelta(microseconds=width_us * 0.9)
                panel.bar(places, counts, width, below, align="edge", color=colour, label=label)
                below = [lower + count for lower, count in zip(below, counts, strict=True)]
        _mark(panel, audit)
        panel.set_ylabel("windows")
        panel.set_title(_title(audit), loc="left", fontsize=12, fontweight="bold")
        locator = panel.xaxis.get_major_locator()
        panel.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
        panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        figure.savefig(png, dpi=130, facecolor="white", bbox_inches="tight")


def _mark(panel: Any, audit: Audit) -> None:
    starts = {one.place.start_us for one in audit.impossible}
    for start_us in sorted(starts)[:_BARS_MAX]:
        panel.axvline(
            _EPOCH + timedelta(microseconds=start_us), color=_COLOURS[Verdict.impossible], lw=0.8
        )


def _title(audit: Audit) -> str:
    wrong = len(audit.impossible)
    impossible = f"{wrong:,} windows are impossible" if wrong else "no window is impossible"
    return f"{impossible}; {audit.undetermined:.1%} are not determined by the log"


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
        "key": [in_row(part) for part in one.place.key],
        "verdict": one.verdict,
        "why": one.why,
        "written": one.written,
        "most": one.most,
        "undecided": one.undecided,
    }


def _spelled(us: int) -> str:
    return (_EPOCH + timedelta(microseconds=us)).isoformat().replace("+00:00", "Z")
