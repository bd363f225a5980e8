"""Sliding and tumbling windows: `RANGE 1 hour SLIDE 10 minutes WATTR ts`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self, cast

from windowing.model.errors import WindowError
from windowing.model.facts import Facts
from windowing.model.lengths import spell_instant
from windowing.model.windows.activity import Activity
from windowing.model.windows.language import ResolvedClauses
from windowing.model.windows.traits import Ends, Order, Traits
from windowing.model.windows.window import Align, Extent, Gaps, Spell, Window


@dataclass(frozen=True)
class Sliding:
    """Windows of one length, one slide apart; tumbling if the two are equal.

    Attributes:
        range_: length of an extent, in the attribute's unit.
        slide: distance between the ends of consecutive windows.
        origin: the start of window 0; the smallest legal value of the attribute.
        pattr: attribute that partitions the stream before windowing, or None.
        align: `end`: ends lie at the origin plus whole slides; starts before the origin are clipped
            there. `start`: starts lie whole slides from the origin, also before it; nothing is
            clipped.
        active: which of these windows there are; None: all.
    """

    range_: int
    slide: int
    attribute: str
    origin: int = 0
    pattr: str | None = None
    align: Align = "end"
    active: Activity | None = None

    kind: ClassVar[str] = "sliding"
    traits: ClassVar[Traits] = Traits(
        order=Order.FREE, ends=Ends.SLIDES, per_key=True, revisable=True, shows_early=True
    )
    gaps: ClassVar[Gaps] = ()

    @classmethod
    def of(cls, spelled: ResolvedClauses) -> Self | None:
        """Build the window from clauses; None: they are of another class."""
        if spelled.at_records or spelled.range_ is None or spelled.over_rows:
            return None
        return cls(
            spelled.range_,
            spelled.slide,
            spelled.attribute,
            spelled.origin,
            spelled.pattr,
            spelled.align,
        )

    def facts(self) -> Facts:
        """Return the window's facts for the fingerprint."""
        return {
            "class": "sliding",
            "range": self.range_,
            "slide": self.slide,
            "over": self.attribute,
            "origin": self.origin,
            "of_each": self.pattr,
            "align": self.align,
            "active": None if self.active is None else self.active.facts(),
        }

    def title(self, spell: Spell) -> str:
        """Return the class and the lengths, for people."""
        shape = "tumbling" if self.range_ == self.slide else "sliding"
        lengths = f"range {spell(self.range_)}, slide {spell(self.slide)}"
        return f"{shape} over {self.attribute}, {lengths}"

    def first_extents(self, count: int) -> list[Extent]:
        """Return the first extents, with starts clipped unless they are aligned."""
        return grid_extents(self.range_, self.slide, self.align, count)


def begins_later(window: Window) -> bool:
    """Whether a window's query begins at a stated time, and not with the log."""
    active = window.active
    return active is not None and active.begins_us is not None


def with_activity(window: Window, activity: Activity, *, timed: bool) -> Window:
    """Return a window whose query is active for a while.

    Args:
        timed: whether the windowing attribute is the event time.

    Raises:
        WindowError: E_ACTIVE: windows of this class cannot begin and end so, or none would be left.
    """
    if not has_extents(window) or not timed:
        if has_extents(window):
            why = f"windows over {window.attribute} do not lie in event time"
        elif window.traits.periodic:
            why = "a cumulating window without the beginning of its period is no running total"
        else:
            why = f"where a {window.kind} window lies, earlier records decide"
        msg = f"{why}: a query with from or until has RANGE … SLIDE … WATTR the event time"
        raise WindowError("E_ACTIVE", f"{msg}; write another one so, or start a new run with it")
    begins, until = activity.begins_us, activity.until_us
    if activity.warmup == "emit" and begins is None:
        raise WindowError("E_ACTIVE", "warmup goes with from, as from: 2013-01-02T00:00Z")
    if begins is not None and until is not None:
        least = begins + (1 if activity.warmup == "emit" else least_length(window))
        if until < least:
            msg = f"no window of {window.range_} us lies from {spell_instant(begins)} to "
            raise WindowError("E_ACTIVE", f"{msg}{spell_instant(until)}: let it leave later")
    return with_active(window, activity)


def with_active(window: Window, active: Activity | None) -> Window:
    """Return a window with another activity, of a class that takes one."""
    found: Window = replace(cast("Sliding", window), active=active)
    return found


def is_sliding(window: Window) -> bool:
    """Whether windows have one length, and lie one slide apart along an attribute."""
    traits = window.traits
    return traits.ends is Ends.SLIDES and not (traits.cumulative or traits.periodic)


def has_extents(window: Window) -> bool:
    """Whether windows lie in event time, or a number, where no record decides; all alike."""
    return is_sliding(window) or window.traits.ends is Ends.CALENDAR


def least_length(window: Window) -> int:
    """Return the length that no window of such a class is below; one at least."""
    return 1 if window.traits.ends is Ends.CALENDAR else window.range_ or 1


def grid_extents(range_: int, slide: int, align: Align, count: int) -> list[Extent]:
    """Return the first extents of windows one slide apart, by attribute or by row number."""
    first = range_ if align == "start" else slide
    ends = [first + wid * slide for wid in range(count)]
    return [Extent(wid, max(0, end - range_), end) for wid, end in enumerate(ends)]
