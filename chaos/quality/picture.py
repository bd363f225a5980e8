"""A picture of the checks of a run over time: a line per expectation, a dot per check."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib import dates
from matplotlib.figure import Figure

from chaos.quality.results import HistoryEntry
from jobs.tools.picture_file import save

_TIME: Final = "datetime64[us]"
_PASSED: Final = "#1a7f37"
_FAILED: Final = "#c62828"


def draw(found: Sequence[HistoryEntry], picture: Path) -> None:
    """Draw the checks; those that failed are crosses, so that color is not needed.

    Args:
        found: what the checks found, oldest first; at least one.

    Raises:
        PictureError: the file has another suffix.
        WriteError: it cannot be written.
    """
    lines = list(dict.fromkeys(map(_line, found)))
    figure = Figure(figsize=(11, 1.2 + 0.34 * len(lines)), layout="constrained")
    axes = figure.subplots()
    for passed, color, marker in ((True, _PASSED, "o"), (False, _FAILED, "X")):
        own = [one for one in found if one.passed is passed]
        axes.scatter(
            np.array([datetime.fromisoformat(one.at).replace(tzinfo=None) for one in own], _TIME),
            [lines.index(_line(one)) for one in own],
            color=color,
            marker=marker,
            s=36,
            label=f"{'met' if passed else 'not met'} ({len(own)})",
        )
    axes.set_yticks(range(len(lines)), [" ".join(line) for line in lines], fontsize=8)
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.grid(axis="y", color="#e5e7eb")
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    locator = dates.AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    formatter = dates.ConciseDateFormatter(locator)
    axes.xaxis.set_major_formatter(formatter)
    axes.set_xlabel("time of the check, UTC")
    figure.legend(loc="outside upper right", ncols=2, frameon=False)
    save(figure, picture, dpi=150)


def _line(one: HistoryEntry) -> tuple[str, str, str]:
    name = one.expectation.removeprefix("expect_").replace("_", " ")
    return one.query, name, f"({one.threshold})" if one.threshold else ""
