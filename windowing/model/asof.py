"""As-of joins: each left record with the newest right record of equal keys at its time.

The trade with the price of its moment: the newest right record that is not younger than the left
one, and not older than `within`.

Source: `ASOF JOIN` of other systems (DuckDB, QuestDB, Snowflake); lateness and revisions are ours
(`windowing/adr/0071`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar, Final, Literal

from windowing.model.emission import Accumulation, Late
from windowing.model.join import PLACE, Join, Side
from windowing.model.operators.join import SIDES, Blaming
from windowing.model.query import JoinQuery

KIND: Final = "asof"
_WITHIN: Final = "within: 10 minutes"


class AsofQuery(JoinQuery):
    """A pipeline's as-of join, all defaults applied: a left join whose partner is the newest.

    A right record is seen from left ones for `right`, and a left record is never waited for.

    Attributes:
        right: how much older than the left record its partner may be, inclusive.
    """

    flow_kind: ClassVar[str] = "asof join"
    kind: Literal["left"] = "left"
    left: Literal[0] = 0
    right: int

    @property
    def accumulation(self) -> Accumulation:
        """A late right record takes back the row that had an older one."""
        return "retracting"

    @property
    def revised_by(self) -> tuple[str, ...]:
        """The place of the left record: each revision may have another right one."""
        return PLACE[:2]

    @property
    def waits_for_topic(self) -> str:
        """The right one: a left record is there when its row is asked for."""
        return self.sources[1].topic


def resolve_asof(
    join: Join, late: Late, retention_us: int | None, entries: int | None
) -> AsofQuery:
    """Return an as-of join with all defaults applied."""
    assert join.within is not None  # noqa: S101 - checked with the kind
    return AsofQuery(
        sources=(join.left.source, join.right.source),
        right=join.within,
        on=join.equal,
        select=join.select,
        late=late,
        retention_us=retention_us,
        entries_max=entries,
    )


def checks_of_asof(join: Join, blaming: Blaming) -> Iterator[Callable[[], object]]:
    """Yield what holds of as-of joins, and of others: calls that raise where it does not.

    Args:
        blaming: attributes a broken rule to a part of the file.
    """

    def within() -> None:
        with blaming("join", "within"):
            if join.kind != KIND and join.within is not None:
                msg = (
                    f"within says how old the partner in an as-of join may be, and this join is of "
                    f"kind {join.kind}: write kind: asof, or give the sides a window instead"
                )
                raise ValueError(msg)
            if join.kind == KIND and join.within is None:
                msg = (
                    "kind: asof needs within, how much older than the left record its partner may "
                    f"be, as {_WITHIN}"
                )
                raise ValueError(msg)

    def where() -> None:
        with blaming("join", "where"):
            if join.kind == KIND and join.where:
                msg = (
                    "where does not say whether it holds before the newest right record is chosen, "
                    "or of the chosen one: with kind: asof, give the right side's source a where "
                    "(it holds before), or filter the rows (it holds after)"
                )
                raise ValueError(msg)

    def operator() -> None:
        with blaming("join", "operator"):
            if join.kind == KIND and join.operator is not None:
                msg = "kind: asof goes by event time, not by SPL's windows: take operator out"
                raise ValueError(msg)

    yield from (within, where, operator)
    for side in SIDES:
        yield partial(_check_window, join, side, blaming)


def _check_window(join: Join, side: Side, blaming: Blaming) -> None:
    with blaming("join", side, "window"):
        if join.kind == KIND and join.side(side).window is not None:
            msg = f"with kind: asof no side has a window: take it out, and say {_WITHIN} instead"
            raise ValueError(msg)
