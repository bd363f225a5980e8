"""SPL's Join in a pipeline: two streams, each with a policy window.

Source: Gedik 2014, section 6.1.2; what it means inside a pipeline: `windowing/adr/0022`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from windowing.model.emission import Accumulation, Late
from windowing.model.join import PLACE, Join, JoinSide, Side
from windowing.model.operators.language import spelled
from windowing.model.query import JoinQuery
from windowing.model.windows.policy import Delta, WindowClause

SIDES: Final[tuple[Side, Side]] = ("left", "right")
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


def check_operator(
    join: Join, late: Late, blaming: Callable[..., AbstractContextManager[None]]
) -> bool:
    """Return whether a join is SPL's, and check what it asks for.

    Args:
        late: the pipeline's policy for late records.
        blaming: attributes a broken rule to a part of the file.

    Raises:
        ValueError: a rule is broken.
    """
    for side in SIDES:
        with blaming("join", side, "window"):
            _check_side(join.operator, side, join.side(side))
    if join.operator is None:
        return False
    with blaming("late"):
        if late.policy == "update":
            msg = (
                "a join over policy windows takes no late records, which would reorder all that "
                "follow: drop them, or write late: {policy: dead_letter}"
            )
            raise ValueError(msg)
    return True


def _check_side(operator: str | None, name: Side, side: JoinSide) -> None:
    if operator is None and side.clause is not None:
        text = spelled(side.clause, side.source.event_time.field)
        msg = f"{text} is a policy window: add operator: join, or give a length"
        raise ValueError(msg)
    if operator is not None and side.clause is None:
        msg = f"operator: join needs a policy window on the {name} side, as {_EXAMPLE}"
        raise ValueError(msg)
