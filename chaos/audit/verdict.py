"""Judge each window that another engine wrote, and each that it should have written."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from chaos.audit.job import Job
from chaos.audit.output import Written
from chaos.audit.windows import Content, ExpectedWindows, Place, values_of
from windowing.model.rows import Value

_CLOSE = 1e-9
"""Relative: engines add floats in their own order."""


class Verdict(StrEnum):
    """What a window is, in the light of the log."""

    equal = "equal"
    explained = "explained"
    unproven = "unproven"
    impossible = "impossible"


@dataclass(frozen=True)
class WindowVerdict:
    """One window.

    Attributes:
        verdict: `equal`: what the log determines; `explained`: by some schedule; `unproven`: too
            many schedules to try, and none was refuted; `impossible`: under no schedule.
        why: the reason, if it is not equal.
        written: the values that the output has; None: no row.
        most: the values with every record that any schedule lets in.
        undecided: how many records the schedule decides on.
    """

    place: Place
    verdict: Verdict
    why: str
    written: dict[str, Value] | None
    most: dict[str, Value] | None
    undecided: int


@dataclass(frozen=True)
class Audit:
    """The verdict on an output.

    Attributes:
        windows: every window that was written or expected, by start and key.
        records, unread: how many values the log has, and how many of them are no records.
    """

    job: Job
    windows: tuple[WindowVerdict, ...]
    records: int
    unread: int

    @property
    def ok(self) -> bool:
        """Whether nothing is impossible."""
        return not self.impossible

    @property
    def impossible(self) -> list[WindowVerdict]:
        """The windows that no schedule explains."""
        return [one for one in self.windows if one.verdict is Verdict.impossible]

    @property
    def undetermined(self) -> float:
        """The share of windows that the log does not determine."""
        return sum(one.undecided > 0 for one in self.windows) / max(1, len(self.windows))

    def counts(self) -> dict[Verdict, int]:
        """Count the windows by verdict."""
        found = Counter(one.verdict for one in self.windows)
        return {verdict: found[verdict] for verdict in Verdict}

    def lines(self) -> Iterator[str]:
        """Yield the verdict for people."""
        counts = ", ".join(f"{count:,} {verdict}" for verdict, count in self.counts().items())
        yield f"{self.job.engine.title}: {len(self.windows):,} windows: {counts}"
        yield f"{self.undetermined:.1%} of the windows are not determined by the log"
        if self.unread:
            yield f"{self.unread:,} of {self.records:,} values are no records by the file's rules"


def audit(job: Job, expected: ExpectedWindows, written: Written) -> Audit:
    """Judge an output."""
    known = {(place.start_us, place.key): place for place in expected.windows}
    found = [_judged(job, expected, place, written.get(id_, ())) for id_, place in known.items()]
    range_us = job.query.window.range_ or 0
    for (start_us, key), rows in written.items():
        if (start_us, key) not in known:
            place = Place(start_us, start_us + range_us, key)
            why = "invented: no record can be in this window"
            found.append(WindowVerdict(place, Verdict.impossible, why, rows[-1], None, 0))
    in_order = sorted(found, key=lambda one: (one.place.start_us, repr(one.place.key)))
    return Audit(job, tuple(in_order), expected.records, expected.unread)


def _judged(
    job: Job, expected: ExpectedWindows, place: Place, rows: Sequence[dict[str, Value]]
) -> WindowVerdict:
    content = expected.windows[place]
    most = values_of(job, content.all)
    row = rows[-1] if rows else None
    verdict, why = _verdict(job, expected, place, rows, most)
    return WindowVerdict(place, verdict, why, row, most, content.undecided)


def _verdict(
    job: Job,
    expected: ExpectedWindows,
    place: Place,
    rows: Sequence[dict[str, Value]],
    most: dict[str, Value],
) -> tuple[Verdict, str]:
    content, is_due = expected.windows[place], place.end_us <= expected.due_us
    if not rows:
        if content.surely and is_due:
            return Verdict.impossible, "lost: the window is closed, and has no row"
        return (Verdict.equal, "") if not is_due else (Verdict.explained, "all may be late")
    if len(rows) > 1 and not job.updates:
        return Verdict.impossible, f"doubled: it has {len(rows)} rows"
    if not is_due and not job.engine.sends_open:
        return Verdict.impossible, "sent early: the clock has not reached its end"
    if same(rows[-1], most):
        return (Verdict.equal if content.is_determined else Verdict.explained), ""
    return _by_schedules(job, content, rows[-1], most)


def _by_schedules(
    job: Job, content: Content, row: dict[str, Value], most: dict[str, Value]
) -> tuple[Verdict, str]:
    possible = content.possible()
    least = values_of(job, content.surely)
    if possible is not None:
        for items in possible:
            if items and same(row, values_of(job, items)):
                late = content.undecided + len(content.surely) - len(items)
                return Verdict.explained, f"{late} of {content.undecided} undecided records late"
    why = _wrong(job, row, least, most)
    if possible is None and why.startswith("differs"):
        return Verdict.unproven, "too many schedules to try"
    return Verdict.impossible, why


def _wrong(job: Job, row: dict[str, Value], least: dict[str, Value], most: dict[str, Value]) -> str:
    for name in (spec.name for spec in job.query.aggregates if spec.function == "count"):
        has, fewest, highest = row[name], least[name], most[name]
        if not (isinstance(has, int) and isinstance(fewest, int) and isinstance(highest, int)):
            continue
        if has < fewest:
            return f"lost: {has} records, and at least {fewest} are in it under every schedule"
        if has > highest:
            return f"doubled: {has} records, and at most {highest} are in it under any schedule"
    return "differs: no schedule gives these values"


def same(row: dict[str, Value], values: dict[str, Value]) -> bool:
    """Whether a row has these values."""
    return all(_equal(row[name], value) for name, value in values.items())


def _equal(one: Value, other: Value) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        exact = isinstance(one, int) and isinstance(other, int)
        return one == other if exact else math.isclose(one, other, rel_tol=_CLOSE)
    return one == other
