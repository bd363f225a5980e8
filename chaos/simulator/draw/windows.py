"""Draw windows of every class, in the syntax of pipeline files, with lengths of a few ticks."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final, TypeVar

from chaos.simulator.draw.clock import Clock
from chaos.simulator.draw.wish import AS_THEY_ARRIVE
from windowing.model.registry import Registry

NUMBER = "seq"
"""The attribute of windows over a plain number."""

UNIT = "p"
"""A field that has one value in each lane, so that its rows arrive in one."""

DRAWS: Final = Registry[Callable[[random.Random], dict[str, Any]]]("window_draw", "window_draws")
"""Functions that draw the clauses of a user's window, by kind."""

_Draw = TypeVar("_Draw", bound=Callable[[random.Random], dict[str, Any]])


def window_draw(kind: str) -> Callable[[_Draw], _Draw]:
    """Register the decorated function, which draws the clauses of a user's window.

    Simulations with the plug-in then draw windows of this kind as well.

    Raises:
        PluginError: the kind is already registered.
    """
    return DRAWS.entry(kind)


def draw_own(rng: random.Random, kind: str, *, number: bool, keyed: bool) -> dict[str, Any]:
    """Draw a window of a user's class.

    With `number`, it is over `seq` instead of event time; with `keyed`, each value of `g` has its
    own windows.
    """
    window: dict[str, Any] = {kind: DRAWS[kind](rng), "wattr": NUMBER if number else "ts"}
    pattr = "g" if keyed else rng.choice([None, "g", "h"])
    return window if pattr is None else {**window, "pattr": pattr}


ZONES: Final = (
    *("America/Havana", "America/Montevideo", "Africa/Khartoum", "America/Santiago"),
    *("America/Santo_Domingo", "Australia/Hobart", "Asia/Hong_Kong", "UTC"),
)
"""Zones of windows: clocks change in the first four months of 1970, but for one of them.

The first three skip a midnight, the fourth shows the hour before one twice.
"""
_TIMES_OF_DAY: Final = ("", "", " ORIGIN 2 hours", " ORIGIN 150 min", " ORIGIN 23 hours")

_ALIGNED = ("sliding", "keyed sliding", "rows in the log's order", "rows by event time")


def draw_window(
    rng: random.Random, kind: str, clock: Clock, *, number: bool, wide: bool, lanes: int
) -> Any:
    """Draw a window.

    With `number`, it is over `seq` instead of event time; with `wide`, it may be aligned at its
    starts.
    """
    unit, axis = ("", NUMBER) if number else (" us", "ts")
    slide = rng.randint(1, 10)
    length = rng.choice([slide, slide, slide * rng.randint(2, 4), rng.randint(1, 25)])
    time, steps = f"RANGE {length * clock.tick_us}{unit}", f"SLIDE {slide * clock.tick_us}{unit}"
    period = f"RANGE CUMULATE {(1 + length % 7) * slide * clock.tick_us}{unit}"
    shift = rng.choice([0, 0, 0, 3, -4, -15]) * clock.tick_us
    origin = f" ORIGIN {shift}{unit}" if shift else ""
    rows = "RANGE LANDMARK" if rng.random() < 0.3 else f"RANGE {length} rows"
    row_gap = rng.randint(1, 4)
    window = {
        "sliding": f"{time} {steps} WATTR {axis}{origin}",
        "keyed sliding": f"{time} {steps} WATTR {axis}{origin}",
        "landmark": f"RANGE LANDMARK {steps} WATTR {axis}{origin}",
        "calendar": f"{draw_local_lengths(rng)} WATTR ts ZONE {rng.choice(ZONES)}"
        f"{rng.choice(_TIMES_OF_DAY)}"
        if kind == "calendar"
        else "",
        "cumulate local": f"{draw_local_totals(rng)} WATTR ts ZONE {rng.choice(ZONES)}"
        f"{rng.choice(_TIMES_OF_DAY)}"
        if kind == "cumulate local"
        else "",
        "cumulate": f"{period} {steps} WATTR {axis}{origin}",
        "rows in the log's order": f"{rows} SLIDE {slide} rows WATTR row_num",
        "rows by event time": f"{rows} SLIDE {slide} rows WATTR row_num ORDER event_time",
        "slide by tuple": f"{time} SLIDE 1 row RATTR {axis} SATTR row_num",
        "slide by n": f"{time} SLIDE {rng.randint(2, 4)} rows RATTR {axis} SATTR row_num",
        "slide by rank": f"{time} SLIDE {rng.randint(1, 4)} rows RATTR {axis} SATTR rank({axis})",
        "session": f"SESSION {slide * clock.tick_us}{unit} WATTR {axis}",
        "session of rows": f"SESSION {row_gap} rows WATTR row_num",
    }[kind]
    if wide and kind in _ALIGNED and "LANDMARK" not in window and rng.random() < 0.3:
        window += " ALIGN start"
    return window + _parts(rng, kind, lanes)


def draw_local_lengths(rng: random.Random) -> str:
    """Draw range and slide of local time: most are as long, some are no multiples."""
    slide, range_ = rng.choice([(1, 1), (1, 1), (1, 1), (2, 2), (1, 7), (1, 2), (2, 3), (3, 2)])
    unit = rng.choice(["day"] * 5 + ["week", "week", "month", "quarter"])
    other = {"day": "week", "quarter": "month"}.get(unit, unit) if range_ > slide else unit
    return f"RANGE {range_} {other}s SLIDE {slide} {unit}s"


def draw_local_totals(rng: random.Random) -> str:
    """Draw a period of local time, and a slide that is no part of it, or of most."""
    slides = {"day": ("4 hours", "7 hours", "25 hours"), "week": ("2 days", "30 hours")}
    unit = rng.choice(["day", "day", "day", "week", "month", "quarter"])
    slide = rng.choice(slides.get(unit, ("10 days", "31 days")))
    return f"RANGE CUMULATE 1 {unit} SLIDE {slide}"


def draw_alike(rng: random.Random, kind: str, window: str, clock: Clock, **given: Any) -> str:
    """Draw a window of the same class that may share slices with another one.

    Args:
        given: as for `draw_window`.
    """
    if kind != "calendar" or rng.random() < 0.1:
        drawn: str = draw_window(rng, kind, clock, **given)
        # Of the same keys, which progress may need.
        return drawn.partition(" PATTR ")[0] + "".join(window.partition(" PATTR ")[1:])
    return f"{draw_local_lengths(rng)} WATTR{window.partition('WATTR')[2]}"


def _parts(rng: random.Random, kind: str, lanes: int) -> str:
    if kind == "sliding":
        return ""
    if kind in AS_THEY_ARRIVE and lanes > 1:
        # Sometimes a unit arrives in two lanes, which engine and definition reject.
        return rng.choice([*[f" PATTR {UNIT}"] * 19, " PATTR g"])
    return rng.choice(["", " PATTR g", " PATTR h"])


def with_gaps(rng: random.Random, window: str, clock: Clock) -> Any:
    """Return a session's window as a mapping, with different gaps for some values of `g`."""
    words = window.split()
    length = " ".join(words[1 : words.index("WATTR")])
    given = {"session": length, "wattr": words[words.index("WATTR") + 1]}
    if "PATTR" in words:
        given["pattr"] = words[-1]
    gap = rng.randint(1, 12)
    unit = "rows" if "rows" in length else "us" if "us" in length else ""
    amount = gap if unit == "rows" else gap * clock.tick_us
    return {**given, "gaps": {rng.choice(["a", "b"]): f"{amount} {unit}".strip()}}
