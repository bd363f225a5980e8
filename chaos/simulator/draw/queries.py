"""Draw queries: aggregates of windows, and late-record policies."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chaos.simulator.draw.clock import Clock
from chaos.simulator.draw.windows import UNIT, draw_own, draw_window, with_gaps
from chaos.simulator.draw.wish import NO_UPDATE, ORDER_FREE, Wish, order_free, own_kinds
from windowing.model.fields import parse_aggregate
from windowing.model.functions import SIGNATURES

_PLAIN = (
    *("count", "sum(v)", "mean(v)", "min(v)", "max(v)", "sum(x)", "mean(x)", "min(x)", "max(x)"),
    *("mean(w)", "min(w)", "max(w)"),
)
_RICHER = (
    *("var(w)", "var(x)", "stddev(x)", "stddev(v)", "var_pop(x)", "stddev_pop(v)", "first(g)"),
    *("first(v)", "last(x)", "last(g)", "collect(w)", "collect(g)", "collect(h)", "argmin(w)"),
    *("argmin(x)", "argmax(x, g)", "argmax(v, x)", "count_distinct(g)", "count_distinct(x)"),
    *("approx_count_distinct(w, 16)", "approx_count_distinct(v)", "approx_count_distinct(g)"),
    *("median(w)", "median(x)", "quantile(x, 0.9)", "quantile(v, 0.5)", "quantile(w, 0)"),
    *("approx_quantile(x, 50%)", "approx_quantile(w, 0.99, 5%)", "top_k(v, 2)", "top_k(x, 1)"),
    *("python:chaos.simulator.draw.swing:Swing(x)", "python:chaos.simulator.draw.swing:Swing(v)"),
    *(f"python:chaos.simulator.draw.swing:PickySwing({field})" for field in "xvw"),
    *(f"python:chaos.simulator.draw.swing:BrittleSwing({field})" for field in "xvw"),
)
_SIZED = tuple(
    text
    for text in _RICHER
    if (one := parse_aggregate("a", text)).function == "python"
    or SIGNATURES[one.function].numbers is not None
)
_GROUPS: tuple[list[str], ...] = (
    [],
    [],
    ["g"],
    ["g"],
    ["g", "h"],
    ["h", "g"],
    ["h"],
    ["x"],
    ["g", "v"],
)


def draw_groups(rng: random.Random) -> list[str]:
    """Draw the fields of `group_by`."""
    return list(rng.choice(_GROUPS))


def draw_fields(rng: random.Random) -> dict[str, str]:
    """Draw the fields of a record, but for its time and for plain numbers that have windows."""
    nullable = rng.choice(["string", "string?"])
    return {"g": nullable, UNIT: "int?", "h": "int?", "v": "int?", "w": "int?", "x": "float?"}


@dataclass(frozen=True)
class Setting:
    """The context of a query.

    Attributes:
        clock: the scale.
        lanes: lanes of the source.
        every: the length of late epochs, in ticks.
        late, retention: the pipeline's.
        keyed: whether progress of event time is per value of `g`.
        number_keyed: the same for `seq`.
    """

    clock: Clock
    lanes: int
    every: int
    late: dict[str, Any]
    retention: Any
    keyed: bool
    number_keyed: bool


def draw_query(
    rng: random.Random, kind: str, around: Setting, wish: Wish, *, number: bool
) -> dict[str, Any]:
    """Draw a query of a class.

    With `number`, its windows are over a plain number.
    """
    keyed = around.number_keyed if number else around.keyed
    if kind in own_kinds():
        spelled: Any = draw_own(rng, kind, number=number, keyed=keyed)
        group_by = draw_groups(rng)
    else:
        spelled, group_by = _spelled(rng, kind, around, wish, number=number)
    query: dict[str, Any] = {
        "window": spelled,
        "group_by": group_by,
        "aggregates": draw_aggregates(rng),
    }
    query |= _late_of(rng, kind, around, wish, number=number)
    if wish.wide and rng.random() < 0.45:
        query["accumulation"] = rng.choice(["discarding", "retracting", "accumulating"])
    early = order_free(kind) or kind in _IN_LOG_ORDER
    if wish.provisional and early and rng.random() < 0.25:
        query["early"] = draw_early(rng, around.clock)
    if wish.wide and kind in COME_AND_GO and not number and rng.random() < 0.3:
        query |= draw_activity(rng, around.clock)
    return query


COME_AND_GO = ("sliding", "keyed sliding", "calendar")
"""The classes of windows whose queries may join a stream and leave it."""


def draw_activity(rng: random.Random, clock: Clock) -> dict[str, Any]:
    """Draw when a query joins, when it leaves, or both, among the first windows of a log."""
    begins = rng.randint(-5, 30)
    # Behind the longest of ranges, so that some window is left.
    until = begins + rng.randint(40, 80)
    joins = {"from": clock.us(begins), "warmup": rng.choice(["skip", "skip", "emit"])}
    leaves = {"until": clock.us(rng.choice([until, until, rng.randint(40, 90)]))}
    return rng.choice([joins, leaves, {**joins, "until": clock.us(until)}])


def _spelled(
    rng: random.Random, kind: str, around: Setting, wish: Wish, *, number: bool
) -> tuple[Any, list[str]]:
    keyed = around.number_keyed if number else around.keyed
    window = draw_window(rng, kind, around.clock, number=number, wide=wish.wide, lanes=around.lanes)
    group_by = draw_groups(rng)
    if keyed and " PATTR " not in window:
        window, group_by = _keyed(rng, kind, window, group_by)
    elif keyed and kind not in _IN_LOG_ORDER:
        window = f"{window.partition(' PATTR ')[0]} PATTR g"
    spelled: Any = window
    of_g = " PATTR " not in window or window.endswith(" PATTR g")
    if kind.startswith("session") and of_g and wish.wide and rng.random() < 0.3:
        group_by = [] if " PATTR " in window and rng.random() < 0.7 else ["g"]
        spelled = with_gaps(rng, window, around.clock)
    return spelled, group_by


_IN_LOG_ORDER = ("rows in the log's order", "session of rows")


def _keyed(
    rng: random.Random, kind: str, window: str, group_by: list[str]
) -> tuple[str, list[str]]:
    """Adapt a query to progress per key, which requires rows per key."""
    if kind in _IN_LOG_ORDER:
        return window, group_by
    grouped = kind in ORDER_FREE and kind != "keyed sliding" and rng.random() < 0.5
    if grouped or kind == "sliding":
        return window, group_by if "g" in group_by else ["g"]
    return f"{window} PATTR g", group_by


def draw_aggregates(
    rng: random.Random, *, sized: bool = False, plain: bool = False
) -> dict[str, str]:
    """Draw one to five aggregates of the fields that all drawn pipelines have.

    With `sized`, only those whose state has a known size; with `plain`, only those whose state is a
    few numbers.
    """
    chosen = rng.sample(_PLAIN, rng.randint(1, 3))
    if not plain:
        chosen += rng.sample(_SIZED if sized else _RICHER, rng.choice([0, 1, 1, 2]))
    return {f"a{number}": text for number, text in enumerate(chosen)}


def draw_early(rng: random.Random, clock: Clock) -> dict[str, Any]:
    """Draw when early rows are due."""
    return rng.choice(
        [{"records": rng.choice([1, 1, 2, 4])}, {"every": clock.us(rng.randint(1, 5))}]
    )


def draw_late(
    rng: random.Random, every: Any, *, update: bool = True, consistent: bool = True
) -> dict[str, Any]:
    """Draw a late-record policy.

    Epochs have the length `every`, in the file's syntax. With `update`, late records may update
    windows; then, with `consistent`, the mode may be consistent.
    """
    mode = rng.choice(["generous", "generous", "consistent"])
    if update and rng.random() < 0.6 and (consistent or mode == "generous"):
        return {"policy": "update", "every": every, "mode": mode}
    return {"policy": rng.choice(["drop", "dead_letter"]), "mode": mode}


def draw_retention(
    rng: random.Random, spell: Callable[[int], Any], wish: Wish, *, windows: bool
) -> Any:
    """Draw how long windows accept late records, and the limit of state.

    `spell` formats a number of ticks. With `wish`, a shard's state may exceed its limit; with
    `windows`, there are windows to count.
    """
    time = spell(rng.choice([0, 2, 3, 10, 15, 40, 1000]))
    kept: dict[str, Any] = {"time": time}
    if windows and rng.random() < 0.3:
        kept = rng.choice([{"windows": rng.randint(0, 5)}, {**kept, "windows": rng.randint(0, 5)}])
    if rng.random() < 0.15:
        kept["entries"] = rng.choice([12 if wish.refusals else 2000, 2000, 2000, 2000])
    return time if list(kept) == ["time"] else kept


def _late_of(
    rng: random.Random, kind: str, around: Setting, wish: Wish, *, number: bool
) -> dict[str, Any]:
    """Draw a query's own `late` and `retention`: at random, or if it needs them."""
    query: dict[str, Any] = {}

    def spell(ticks: int) -> Any:
        return ticks * around.clock.tick_us if number else around.clock.us(ticks)

    update = kind not in NO_UPDATE
    given, consistent = around.late, kind != "landmark"
    unfit = given["policy"] == "update" and (
        number or not update or (not consistent and given["mode"] == "consistent")
    )
    if unfit or rng.random() < 0.35:
        every = spell(around.every)
        query["late"] = draw_late(rng, every, update=update, consistent=consistent)
    # Where retention is a time, windows over a number need their own.
    if number or rng.random() < 0.35:
        windows = kind in ("sliding", "keyed sliding", "landmark", "cumulate")
        query["retention"] = draw_retention(rng, spell, wish, windows=windows)
    return query
