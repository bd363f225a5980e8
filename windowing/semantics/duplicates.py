"""Duplicates by definition: which records of a lane were kept, by their identity.

A record is a duplicate iff an earlier record of its lane that was kept has the same identity and a
time less than `within` away, and it does not lie `within` or more behind the lane's progress.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from windowing.model.duplicates import Duplicates
from windowing.model.rows import Scalar

_TIDIED_FROM: Final = 100_000
"""From how many identities on those that no duplicate can have any more are looked for."""


class KeptRecords:
    """The records of one lane that were kept, so far.

    Args:
        rule: what makes a duplicate.
    """

    def __init__(self, rule: Duplicates) -> None:
        self._by, self._within = rule.by, rule.within_us
        self._kept: dict[tuple[Scalar, ...], list[tuple[int, int]]] = {}
        self._tidy_at = _TIDIED_FROM

    def original(
        self, ts_us: int, fields: Mapping[str, Scalar], offset: int, progress: float
    ) -> int | None:
        """Return the offset of the record that this one repeats; None: it is kept.

        Args:
            progress: of the lane by event time, before the record.
        """
        identity = tuple(_comparable(fields[name]) for name in self._by)
        if any(value is None for value in identity):
            return None
        earlier = self._kept.setdefault(identity, [])
        if ts_us > progress - self._within:
            for kept_us, kept_offset in reversed(earlier):
                if abs(ts_us - kept_us) < self._within:
                    return kept_offset
        earlier.append((ts_us, offset))
        if len(self._kept) >= self._tidy_at:
            self._forget(progress)
            self._tidy_at = max(_TIDIED_FROM, 2 * len(self._kept))
        return None

    def state(self, progress: float) -> list[Any]:
        """Return what later records may repeat, as JSON values."""
        self._forget(progress)
        return [[list(identity), kept] for identity, kept in self._kept.items()]

    def go_on(self, state: list[Any]) -> None:
        """Go on where another one with this `state` was."""
        self._kept = {
            tuple(identity): [(ts_us, offset) for ts_us, offset in kept] for identity, kept in state
        }

    def _forget(self, progress: float) -> None:
        """Forget what no later record can repeat: `windowing/model/duplicates.py` has the proof."""
        needed = {
            identity: [one for one in kept if one[0] > progress - 2 * self._within]
            for identity, kept in self._kept.items()
        }
        self._kept = {identity: kept for identity, kept in needed.items() if kept}


def _comparable(value: Scalar) -> Scalar:
    """Return a value as JSON can hold it: of a decimal its text, the same of equal ones."""
    if not isinstance(value, Decimal):
        return value
    whole, _, fraction = f"{value:f}".partition(".")
    return f"{whole}.{fraction.rstrip('0')}" if value else "0."
