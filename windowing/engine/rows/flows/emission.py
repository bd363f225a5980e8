"""Rows of stored windows: revisions, panes, and the content that a row shows.

Full and late rows share one count of revisions; early rows have their own, so that provisional rows
never affect the other numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from windowing.engine.rows.flows.partial import Partial, fold_of
from windowing.engine.rows.flows.window_store import StoredWindow
from windowing.model.flow import StreamFlow
from windowing.model.record import Place, Value, WindowRow, WindowView, lane_order


class Emission:
    """The builder of one aggregator's rows.

    Args:
        flow: aggregate and accumulation.
        read: returns the values of a group's records at places, for holistic aggregates.
    """

    def __init__(
        self, flow: StreamFlow, read: Callable[[str | None, Sequence[Place]], list[int]]
    ) -> None:
        self._fold, self._mode, self._read = fold_of(flow), flow.accumulation, read

    def full(self, held: StoredWindow) -> list[WindowRow]:
        """Return revision 0."""
        held.revision = 0
        return self._rows(held, "full", 0)

    def late(self, held: StoredWindow) -> list[WindowRow]:
        """Return the next revision; at least 1, even without a full row."""
        held.revision = max(held.revision + 1, 1)
        return self._rows(held, "late", held.revision)

    def early(self, held: StoredWindow) -> list[WindowRow]:
        """Return the next provisional row."""
        held.early += 1
        return self._rows(held, "early", held.early)

    def tombstone(self, held: StoredWindow, absorbed_by: int) -> list[WindowRow]:
        """Return the tombstone of an absorbed session: its last row, empty."""
        early = held.revision < 0
        row = WindowRow(
            start=held.start,
            end=held.shown_end,
            key=held.key,
            pane="early" if early else "late",
            revision=held.early + 1 if early else held.revision + 1,
            records=0,
            value=None,
            offsets={},
            absorbed_by=absorbed_by,
        )
        return [*self._taken_back(held), row]

    def view(self, held: StoredWindow, *, pending: bool) -> WindowView:
        """Return a window as a query of the store shows it."""
        content = held.content
        return WindowView(
            start=held.start,
            end=held.end,
            key=held.key,
            records=content.records,
            value=self._value(held.key, content),
            offsets=_in_order(content.offsets),
            pending=held.pending if pending else None,
        )

    def _rows(self, held: StoredWindow, pane: str, revision: int) -> list[WindowRow]:
        shown = held.fresh if self._mode == "discarding" else held.content
        row = WindowRow(
            start=held.start,
            end=held.end,
            key=held.key,
            pane=pane,  # type: ignore[arg-type]
            revision=revision,
            records=shown.records,
            value=self._value(held.key, shown),
            offsets=_in_order(shown.offsets),
        )
        rows = [*self._taken_back(held), row]
        if self._mode == "retracting":
            held.shown = row
        held.shown_end, held.fresh, held.news = held.end, Partial(), 0
        return rows

    def _taken_back(self, held: StoredWindow) -> list[WindowRow]:
        return [] if held.shown is None else [replace(held.shown, retracts=True)]

    def _value(self, key: str | None, partial: Partial) -> Value:
        if not partial.records:
            return self._fold.empty

        def read(places: Sequence[Place]) -> list[int]:
            return self._read(key, places)

        return self._fold.result(partial.state, partial.records, read)


def _in_order(offsets: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    return {lane: offsets[lane] for lane in sorted(offsets, key=lane_order)}
