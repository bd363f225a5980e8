"""As-of joins, by definition: each left record, at each instant, beside all right ones known then.

A record is known from the instant after its time, or from its late epoch. The first row of a left
record is due when it is known; another follows at each instant at which a newer right record of its
keys becomes known, and takes the one before back. Only the right side's progress makes rows due.

Source: `ASOF JOIN` of other systems; lateness and revisions are ours (`windowing/adr/0071`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from windowing.model.asof import AsofQuery
from windowing.model.rows import Row, Scalar
from windowing.semantics.lanes import Lane
from windowing.semantics.units import Item
from windowing.semantics.windows.joins import JoinDefinition, JoinRow, row_of


@dataclass(frozen=True)
class AsofDefinition(JoinDefinition):
    """Which records are matched, and from when on."""

    query: AsofQuery

    def takes(self, item: Item) -> bool:
        """Return whether a record is matched, now or at a later epoch."""
        if self.query.side_of(item.source) == "left" or self.lateness(item) is None:
            return super().takes(item)
        if self.query.late.policy != "update":
            return False
        assert self.query.retention_us is not None  # noqa: S101 - `update` has it
        return item.progress < item.value + self.query.right + self.query.retention_us


def rows(query: AsofQuery, items: Sequence[Item], lanes: Sequence[Lane]) -> Iterator[Row]:
    """Yield all rows that the log shows of an as-of join.

    Args:
        items: the good records of both streams.
        lanes: all lanes, at the end of the log.
    """
    definition = AsofDefinition(query)
    known = [(definition.delivered(item), item) for item in items if definition.takes(item)]
    right = query.waits_for_topic
    progress = min(lane.progress for lane in lanes if lane.name.rpartition("/")[0] == right)
    partners = [one for one in known if one[1].source == right]
    for since, left in known:
        if left.source == right:
            continue
        shown: Row | None = None
        instants = {since, *(at for at, _ in partners if at > since)}
        for at in sorted(at for at in instants if at <= progress):
            newest = _newest(query, left, [item for when, item in partners if when <= at])
            row = row_of(query, JoinRow(at, left, newest))
            if shown is None:
                late = definition.lateness(left) is not None
                shown = _numbered(row, int(late))
            elif row.key != shown.key:
                yield replace(shown, retracts=True)
                shown = _numbered(row, shown.revision + 1)
            else:
                continue
            yield shown


def _newest(query: AsofQuery, left: Item, partners: Sequence[Item]) -> Item | None:
    """Return the newest of some right records that a left one may be matched with."""
    found = [
        item
        for item in partners
        if left.value - query.right <= item.value <= left.value
        and all(equals(left.fields[one], item.fields[other]) for one, other in query.on.items())
    ]
    # Of one topic: its partitions are the order of its lanes.
    return max(found, key=lambda item: (item.value, item.partition, item.offset), default=None)


def equals(one: Scalar, other: Scalar) -> bool:
    """Return whether two values are equal; null equals nothing."""
    return one is not None and other is not None and one == other


def _numbered(row: Row, revision: int) -> Row:
    return replace(row, revision=revision, pane="late" if revision else "full")
