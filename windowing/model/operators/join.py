"""SPL's Join in a pipeline: two streams, each with a policy window.

Source: Gedik 2014, section 6.1.2; what it means inside a pipeline: `windowing/adr/0022`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Final

from windowing.model.emission import Accumulation, Late
from windowing.model.join import PLACE, Join, JoinSide, Side
from windowing.model.operators.language import spelled
from windowing.model.query import JoinQuery
from windowing.model.windows.policy import Delta, WindowClause

SIDES: Final[tuple[Side, Side]] = ("left", "right")
Blaming = Callable[..., AbstractContextManager[None]]
"""Attributes a broken rule inside the block to a path of the file."""

_EXAMPLE: Final = "window: SLIDING count(100) PARTITIONED BY carrier"


class PolicyJoinQuery(JoinQuery):
    """A pipeline's join whose sides have policy windows, all defaults applied.

    A record probes the opposite window once, as it comes in canonical order. It takes no late
    record, so that no row is ever taken back.

    Attributes:
        windows: of the left side and of the right one.
        partitions: pairs of a left and a right partition field; none unless both are partitioned.
    """

    windows: tuple[WindowClause, WindowClause]
    partitions: dict[str, str]

    def side_window(self, side: Side) -> WindowClause:
        """Return the window of a side."""
        return self.windows[SIDES.index(side)]

    @property
    def sharded_by(self) -> dict[str, str]:
        """The partition fields of both sides; none where one shard must see the whole stream.

        That is where a window is not partitioned, or partition eviction looks at all partitions.
        """
        evicting = any(window.partition_eviction is not None for window in self.windows)
        return {} if evicting else self.partitions

    @property
    def key(self) -> tuple[str, ...]:
        """The partition, what is equal, then the places of both records."""
        return (*self._key, *PLACE)

    @property
    def _key(self) -> dict[str, str]:
        return {**self.partitions, **self.on}

    @property
    def accumulation(self) -> Accumulation:
        """Every row is sent once."""
        return "accumulating"

    def key_fields(self, side: Side) -> tuple[str, ...]:
        """Return the fields of a side's records that are part of a row's key."""
        return tuple(self._key) if side == "left" else tuple(self._key.values())

    def needed(self, side: Side) -> tuple[str, ...]:
        """Return the fields of a side that its window, a row or a condition needs."""
        window, event_time = self.side_window(side), self.source(side).event_time.field
        field = window.eviction.attribute if isinstance(window.eviction, Delta) else event_time
        # The event time is known without being a field.
        compared = () if field == event_time else (field,)
        own = (*self.key_fields(side), *window.partition_by, *compared, *super().needed(side))
        return tuple(dict.fromkeys(own))


def checks_of_operator(join: Join, late: Late, blaming: Blaming) -> Iterator[Callable[[], object]]:
    """Yield what holds of joins that are SPL's, or are not: calls that raise where it does not.

    Args:
        late: the pipeline's policy for late records.
        blaming: attributes a broken rule to a part of the file.
    """
    for side in SIDES:
        yield partial(_check_side, join.operator, side, join.side(side), blaming)
    if join.operator is not None:
        yield partial(_check_late, late, blaming)


def _check_late(late: Late, blaming: Blaming) -> None:
    with blaming("late"):
        if late.policy == "update":
            msg = (
                "a join over policy windows takes no late records, which would reorder all that "
                "follow: drop them, or write late: {policy: dead_letter}"
            )
            raise ValueError(msg)


def _check_side(operator: str | None, name: Side, side: JoinSide, blaming: Blaming) -> None:
    with blaming("join", name, "window"):
        if operator is None and side.clause is not None:
            text = spelled(side.clause, side.source.event_time.field)
            msg = f"{text} is a policy window: add operator: join, or give a length"
            raise ValueError(msg)
        if operator is not None and side.clause is None:
            msg = f"operator: join needs a policy window on the {name} side, as {_EXAMPLE}"
            raise ValueError(msg)
