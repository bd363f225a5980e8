"""Windows that a record's value determines, by definition: sliding ones, and users'.

A class gives the windows that hold a value, and their extents. Each of a record's windows then
takes it on time, at an epoch, or not at all, depending on its end and the progress before the
record.

Source: Li et al., SIGMOD 2005, section 4 (context-free windows).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from windowing.model.registry import PluginError
from windowing.model.user.user_code import raisable, words
from windowing.model.windows.own import OwnWindow
from windowing.semantics.units import (
    Holding,
    Item,
    Lateness,
    OutsideReason,
    Unit,
    Verdict,
    is_late,
    judge,
)
from windowing.semantics.windows.definition import ExtentDefinition


@dataclass(frozen=True)
class ByValueDefinition(ExtentDefinition):
    """Windows whose numbers and ends follow from a record's value alone."""

    @abstractmethod
    def wids(self, value: int) -> range:
        """Return the ids of the windows that hold a value; ends increase with ids."""

    def around(self, item: Item) -> range:
        """Return the ids of the windows that decide what becomes of a record.

        Raises:
            PluginError: a plug-in cannot say which.
        """
        if not isinstance(self.query.window, OwnWindow):
            return self.wids(item.value)
        try:
            return self.wids(item.value)
        except raisable() as error:
            msg = f"window {self.query.window.kind}: wids failed for {item.value}: {words(error)}"
            raise PluginError(f"{item.lane}, offset {item.offset}: {msg}") from error

    def every(self, value: int) -> range:
        """Return the ids of the windows around a value that decide what `consistent` calls late.

        They are those that hold it, and those that would if the query ran for ever.
        """
        return self.wids(value)

    def shown_in(self, value: int) -> range:
        """Return the ids of the windows whose rows a value may decide.

        They are those that hold it, and those behind them that are sent without records.
        """
        held = self.wids(value)
        if not held or not self.query.empty_after:
            return held
        last = held[-1]
        for _ in range(self.query.empty_after):
            last = self.next(last)
        return range(held[0], last + 1)

    def verdicts(self, item: Item) -> dict[int, Verdict]:
        """Return the verdict of each of a record's windows."""
        ids, earliest = self.around(item), self._earliest(item)
        if item.progress < earliest:
            return dict.fromkeys(ids, "on_time")
        return {wid: judge(self.query, self._end(wid), earliest, item.progress) for wid in ids}

    def late_for(self, item: Item) -> list[int]:
        """Return the windows that a record is late for."""
        ids, earliest = self.around(item), self._earliest(item)
        if item.progress < earliest:
            return []
        return [w for w in ids if is_late(self.query, self._end(w), earliest, item.progress)]

    def hold(self, unit: Unit) -> list[Holding]:
        """Return what each window holds of a unit; empty windows do not exist."""
        return [
            Holding(wid, item, None if verdict == "on_time" else verdict)
            for item in unit.items
            for wid, verdict in self.verdicts(item).items()
            if verdict != "refused"
        ]

    def takes(self, item: Item) -> bool:
        """Return whether some window takes a record."""
        return any(verdict != "refused" for verdict in self.verdicts(item).values())

    def lateness(self, item: Item) -> Lateness | None:
        """Return the windows that a record is late for; None: it is not late."""
        late = self.late_for(item)
        if not late:
            return None
        return Lateness(len(late) == len(self.around(item)), late[0], late[-1])

    def outside(self, value: int) -> OutsideReason | None:
        """Return why a value lies in no window; None: it lies in some."""
        return None if self.wids(value) else "gap"

    def _earliest(self, item: Item) -> int:
        """Return when the first of the windows around a record ends; 0 if there are none.

        Ends increase with ids, so a record that is on time for this window is so for all.
        """
        ids = self.every(item.value)
        return self._end(ids[0]) if ids else 0

    def _end(self, wid: int) -> int:
        return self.extent(wid)[1]
