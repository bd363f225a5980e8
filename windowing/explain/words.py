"""Context classes, lengths and sizes, in words, and about how large partial states are.

A context class says what must be known beside a record to name its windows: CF (context free), FCF
and FCA (forward context free and aware; bounded: FCB, unbounded: FCU). Source: Li et al., SIGMOD
2005, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

from windowing.engine.aggregates.exact import WIDE_LIMBS
from windowing.engine.aggregates.sums import wide
from windowing.model.fields import Aggregate
from windowing.model.file.pipeline import Query, Source
from windowing.model.functions import SIGNATURES
from windowing.model.lengths import spell_us
from windowing.model.windows.traits import Ends, Order
from windowing.model.windows.window import ROW_NUM, Spell, Window


@dataclass(frozen=True)
class Context:
    """What must be known beside a record to name its windows.

    Attributes:
        name: CF, FCF, FCB or FCU.
        meaning: what that says of this window.
    """

    name: str
    meaning: str


def context_of(window: Window) -> Context:
    """Give the context class of a window."""
    traits = window.traits
    if traits.merging:
        return Context(
            "FCU",
            "forward context aware, unbounded: a session ends when a gap has passed, and a late "
            "record may merge two",
        )
    if traits.ends is Ends.ROWS:
        return _OF_ROWS if traits.counts_arrivals else _OF_RANKS
    if traits.at_records:
        return _AT_RANKS if traits.order is Order.CANONICAL else _AT_RECORDS
    if traits.cumulative:
        return Context(
            "CF", "context free: the record alone tells the first of its windows, and all follow"
        )
    return Context("CF", "context free: the record alone tells its windows")


_OF_ROWS = Context(
    "FCF", "forward context free: the record's number tells its windows, the past its number"
)
_OF_RANKS = Context(
    "FCF", "forward context free in the order of event time: a record's number is its rank"
)
_AT_RANKS = Context(
    "FCU",
    "forward context aware, unbounded: which records are windows shows when all before them are "
    "there",
)
_AT_RECORDS = Context(
    "FCB", "forward context aware, bounded: the record's windows lie at records up to one range on"
)


_WORD_BYTES = 8
# Number of records, first and last offset; first and last window, and the epoch of late ones.
_HEAD_NUMBERS = 6


def partial_bytes(query: Query, source: Source) -> int:
    """About how many bytes one partial state has, what grows with the records apart."""
    numbers = [_numbers(aggregate, source) for aggregate in query.aggregates]
    return _WORD_BYTES * (_HEAD_NUMBERS + len(query.group_by) + sum(n or 0 for n in numbers))


def spell_bytes(count: int) -> str:
    """Write a number of bytes in a unit of its size."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def memory_bound(
    query: Query, source: Source, *, size: str, partials: int | None, lanes: int, more: str
) -> str:
    """Say what bounds the state of a query, in bytes per key.

    Args:
        size: of a partial state.
        partials: how many there are per key and lane; None: that follows from the records.
        more: what else there is.
    """
    each = f"about {size} a partial state"
    if grows := growing(query, source):
        names = ", ".join(aggregate.name for aggregate in grows)
        return f"{each}, and no bound: {names} grow with the records"
    if partials is None:
        return f"{each}; how many there are follows from the records"
    total = spell_bytes(partials * partial_bytes(query, source) * lanes)
    return f"{each}: about {total} per key while the lanes are level, {more}"


def growing(query: Query, source: Source) -> list[Aggregate]:
    """The aggregates whose partial states grow with the records."""
    return [a for a in query.aggregates if _numbers(a, source) is None]


def _numbers(aggregate: Aggregate, source: Source) -> int | None:
    if aggregate.function == "python":
        return None
    signature = SIGNATURES[aggregate.function]
    if signature.numbers is None:
        return None
    if aggregate.field is None:
        return 0
    type_ = source.fields[aggregate.field]
    if wide(type_) and aggregate.function in ("sum", "mean"):
        return 1 + WIDE_LIMBS
    kinds = [kind for kind, _ in signature.parameters]
    times = [
        int(given)
        for kind, given in zip(kinds, aggregate.parameters, strict=True)
        if kind in ("k", "size")
    ]
    return signature.numbers[type_.kind == "float"] * (times[0] if times else 1)


def speller(attribute: str, source: Source) -> Spell:
    """How lengths of the windowing attribute are written."""
    if attribute == ROW_NUM:
        return lambda length: f"{length} row" + "s" * (length != 1)
    if attribute == source.event_time.field:
        return lambda length: "0" if length == 0 else "-" * (length < 0) + spell_us(abs(length))
    return str
