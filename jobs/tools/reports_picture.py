"""A picture of what engines report of one input: tuples below, a bar for each report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jobs.tools.picture_file import save
from windowing.research.engines.parameters import Domain, StreamTuple
from windowing.research.engines.simulation import SimulatedReport

_COLOURS = ("#1f5f8b", "#d1495b")
_INCHES_PER_REPORT, _INCHES_FIXED, _INCHES_MAX = 0.16, 1.2, 40.0


def draw(
    reported: Mapping[str, Sequence[SimulatedReport]],
    domain: Domain,
    stream: Sequence[StreamTuple],
    picture: Path,
) -> None:
    """Draw the reports of each engine over the domain of its windows.

    Args:
        reported: reports of one or two engines, by title.
        domain: of the windows.
        picture: the file, PNG or SVG.

    Raises:
        PictureError: the file has another suffix.
        WriteError: it cannot be written.
    """
    rows = sum(map(len, reported.values()))
    height = min(_INCHES_FIXED + len(reported) + _INCHES_PER_REPORT * rows, _INCHES_MAX)
    figure = Figure(figsize=(10, height), layout="constrained")
    panels = figure.subplots(
        len(reported),
        1,
        sharex=True,
        squeeze=False,
        height_ratios=[max(len(reports), 1) for reports in reported.values()],
    )[:, 0]
    places = {one.number: one.time if domain is Domain.time else one.number for one in stream}
    for panel, colour, (title, reports) in zip(panels, _COLOURS, reported.items(), strict=False):
        panel.set_title(f"{title}: {len(reports)} reports", loc="left", fontsize=10)
        _draw_reports(panel, colour, reports, places)
    panels[-1].set_xlabel("application time" if domain is Domain.time else "tuple id")
    save(figure, picture, dpi=130)


def _draw_reports(
    panel: Axes, colour: str, reports: Sequence[SimulatedReport], places: Mapping[int, int]
) -> None:
    """Draw one engine: the first report at the top, its content as dots in its interval."""
    for row, report in enumerate(reports):
        panel.plot([report.low, report.instant], [row, row], color=colour, linewidth=5, alpha=0.3)
        inside = [places[number] for number in report.content]
        panel.plot(inside, [row] * len(inside), "o", color=colour, markersize=3)
    for at in places.values():
        panel.axvline(at, color="#cccccc", linewidth=0.5, zorder=0)
    panel.set_ylim(max(len(reports), 1) - 0.5, -0.5)
    panel.set_yticks([])
