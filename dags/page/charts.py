"""Charts as SVG, drawn on the server: the page runs no script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Final

from markupsafe import Markup, escape

_WIDTH, _HEIGHT = 360, 96
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 6, 8, 18


@dataclass(frozen=True)
class Line:
    """One line of a chart.

    Attributes:
        values: one per bucket; None: unknown.
        colour: a class of the style sheet, `a` or `b`.
    """

    name: str
    values: Sequence[float | None]
    colour: str = "a"


def chart(title: str, times: Sequence[str], lines: Sequence[Line], unit: str = "") -> Markup:
    """Draw lines over common buckets of time.

    Args:
        times: the beginning of each bucket, ISO 8601.
        lines: one or two.
    """
    known = [value for line in lines for value in line.values if value is not None]
    if not known or len(times) < 1:
        return Markup(
            '<figure class="chart"><figcaption>{}</figcaption><p>unknown</p></figure>'
        ).format(title)
    top = _nice(max(known))
    body = [_axis(top, unit), _ends(times)]
    body += [_path(line, top) for line in lines]
    legend = Markup(" ").join(
        Markup('<span class="key {}">{}</span>').format(line.colour, line.name) for line in lines
    )
    description = "; ".join(f"{line.name}: {_last(line)}" for line in lines)
    return Markup(
        '<figure class="chart"><figcaption>{} {}</figcaption>'
        '<svg viewBox="0 0 {} {}" role="img" aria-label="{}: {}">{}</svg></figure>'
    ).format(title, legend, _WIDTH, _HEIGHT, title, description, Markup("").join(body))


def strip(passed: Sequence[bool | None], titles: Sequence[str]) -> Markup:
    """Draw a row of marks, one for each check: passed, failed, unknown."""
    marks = (
        Markup('<i class="mark {}" title="{}"></i>').format(_PASSED[one], title)
        for one, title in zip(passed, titles, strict=True)
    )
    return Markup('<span class="strip">{}</span>').format(Markup("").join(marks))


_PASSED: Final = {True: "green", False: "red", None: "grey"}


def short(value: float) -> str:
    """Write a number in at most five characters: 1234567 is 1.2 M."""
    for limit, name in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{name}"
    return f"{value:.3g}"


def _nice(value: float) -> float:
    if value <= 0:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= value * 0.999))


def _x(number: int, many: int) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (number / max(many - 1, 1))


def _y(value: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * max(value, 0.0) / top


def _axis(top: float, unit: str) -> Markup:
    drawn = []
    for value in (0.0, top / 2, top):
        y = _y(value, top)
        drawn.append(
            Markup('<path class="grid" d="M{} {:.1f}H{}"/>').format(_LEFT, y, _WIDTH - _RIGHT)
        )
        drawn.append(
            Markup('<text x="{}" y="{:.1f}" class="end">{}{}</text>').format(
                _LEFT - 4, y + 3, short(value), escape(unit) if value else ""
            )
        )
    return Markup("").join(drawn)


def _ends(times: Sequence[str]) -> Markup:
    first, last = (time[:16].replace("T", " ") for time in (times[0], times[-1]))
    y = _HEIGHT - 4
    return Markup('<text x="{}" y="{}">{}</text><text x="{}" y="{}" class="end">{}</text>').format(
        _LEFT, y, first, _WIDTH - _RIGHT, y, last
    )


def _path(line: Line, top: float) -> Markup:
    """Draw a line; it is interrupted where a value is unknown, and one alone is a dot."""
    many, pieces, piece = len(line.values), list[list[str]](), list[str]()
    for number, value in enumerate(line.values):
        if value is None:
            pieces, piece = [*pieces, piece], []
        else:
            piece.append(f"{_x(number, many):.1f} {_y(value, top):.1f}")
    drawn = [
        Markup('<path class="line {}" d="M{}"/>').format(
            line.colour, "L".join(one if len(one) > 1 else one * 2)
        )
        for one in (*pieces, piece)
        if one
    ]
    return Markup("").join(drawn)


def _last(line: Line) -> str:
    known = [value for value in line.values if value is not None]
    return short(known[-1]) if known else "unknown"
