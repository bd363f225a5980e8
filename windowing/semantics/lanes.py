"""Progress: what one lane's records, in offset order, promise about later ones.

A lane's progress is the running maximum of the bounds after its records, minus infinity at first,
plus infinity after `end`. If progress is per key, a key's progress in a lane is the larger of the
lane's and its own. Decisions about a record depend on the progress *before* it, which is a fact of
the log.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from windowing.model.progress import Disorder, Heartbeat, OrderedPer
from windowing.model.rows import Scalar
from windowing.semantics.controls import Bound, Control, Observation
from windowing.semantics.duplicates import KeptRecords
from windowing.semantics.generators import (
    Fields,
    Generator,
    generator,
    give_back,
    kept_by,
    observed_bound,
)

Progress = int | float
"""Microseconds or an infinity, which Python compares with ints exactly."""


@dataclass
class Lane:
    """One lane's progress; mutable.

    Attributes:
        name: `source/partition`.
        ignore_control: honour only `end` among control records.
        progress: of the lane as a whole.
        furthest: the largest finite progress so far.
        by_key: the progress of single keys.
        newest: the largest value of its records that windows see.
        counter: of the last control record whose signature was right; -1 before the first.
        rank: the place of its topic among those of a source of several; None: of none.
        kept: its records by identity, where the source says what a duplicate is; else None.
        timed: the same lane by event time, which decides about duplicates; None: this is it, or
            there are none.
    """

    name: str
    disorder: Disorder
    ignore_control: bool = False
    progress: Progress = -math.inf
    furthest: Progress = -math.inf
    by_key: dict[Scalar, Progress] = field(default_factory=dict)
    newest: Progress = -math.inf
    counter: int = -1
    rank: int | None = None
    kept: KeptRecords | None = None
    timed: Lane | None = None

    def __post_init__(self) -> None:
        self._bound_after: Generator = generator(self.disorder, self.name)
        self._attr = self.disorder.progress_attr

    def state(self) -> list[Any]:
        """Return all that the lane's records have left, as JSON values.

        Raises:
            HiddenStateError: as of `kept_by`.
        """
        of_keys = [list(pair) for pair in self.by_key.items()]
        kept = kept_by(self._bound_after)
        own = [self.progress, self.furthest, of_keys, kept, self.newest, self.counter]
        by_time = self if self.timed is None else self.timed
        identities = None if self.kept is None else self.kept.state(by_time.progress)
        return [*own, identities, None if self.timed is None else self.timed.state()]

    def go_on(self, state: list[Any]) -> None:
        """Go on where a lane with this `state()` was."""
        self.progress, self.furthest, of_keys, kept, self.newest, self.counter = state[:6]
        self.by_key = dict(of_keys)
        give_back(self._bound_after, kept)
        identities, timed = state[6:]
        if self.kept is not None:
            self.kept.go_on(identities)
        if self.timed is not None:
            self.timed.go_on(timed)

    def of_record(self, fields: Fields) -> Progress:
        """Return the progress for a record with these fields: of its lane or key, if larger."""
        return max(self.progress, self._promised(fields))

    def furthest_of_record(self, fields: Fields) -> Progress:
        """Return the largest finite progress so far for such a record."""
        return max(self.furthest, self._promised(fields))

    def _promised(self, fields: Fields) -> Progress:
        return -math.inf if self._attr is None else self.by_key.get(fields[self._attr], -math.inf)

    def original(self, ts_us: int, fields: Fields, offset: int) -> int | None:
        """Return the offset of the record that the next one repeats; None: it is no duplicate."""
        if self.kept is None:
            return None
        by_time = self if self.timed is None else self.timed
        return self.kept.original(ts_us, fields, offset, by_time.progress)

    def record(self, value: int, fields: Fields, *, seen: bool = True) -> None:
        """Advance by a data record's promise.

        Args:
            seen: whether windows see it.
        """
        if seen:
            self.newest = max(self.newest, value)
        if isinstance(self.disorder, OrderedPer) and self._attr is not None:
            self._promise_key(fields[self._attr], value)
        else:
            self._promise(self._bound_after(value, fields))

    def control(self, control: Control) -> None:
        """Advance by a control record, if the generator uses it."""
        if control == "end":
            self.progress = math.inf
        elif self.ignore_control:
            return
        elif isinstance(control, Bound) and control.on is None:
            self._promise(control.bound_us)
        elif isinstance(control, Bound) and control.on is not None:
            for attr, key in control.on.items():
                if attr == self._attr and (key is None or isinstance(key, int | float | str)):
                    self._promise_key(key, control.bound_us)
        elif isinstance(control, Observation) and isinstance(self.disorder, Heartbeat):
            self._promise(observed_bound(self.disorder, self.name, control))

    def _promise(self, bound: int | None) -> None:
        if bound is not None:
            self.progress = max(self.progress, bound)
            self.furthest = max(self.furthest, bound)

    def _promise_key(self, key: Scalar, bound: int) -> None:
        self.by_key[key] = max(self.by_key.get(key, -math.inf), bound)
