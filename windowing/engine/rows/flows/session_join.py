"""Pairs within sessions: two records of a key match if a chain of records connects them.

The chain consists of records of both sides, each less than the gap from the next. A pair is sent at
the instant at which its two records are first connected; chains only grow.

Source: SAMZA-552, "Session join"; one session over both streams, and this instant, are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar


class Placed(Protocol):
    """A record on its axis."""

    @property
    def at(self) -> int:
        """Its position there."""


T = TypeVar("T", bound=Placed)


def connected(before: Sequence[T], joining: Sequence[T], gap: int) -> Iterator[tuple[T, T]]:
    """Yield each two records that are newly in one session, in the order of the axis.

    Args:
        before: the existing records of a key.
        joining: the new records.
        gap: the distance that separates two records.
    """
    was = {id(one): number for number, chain in enumerate(chains(before, gap)) for one in chain}
    was |= {id(one): -1 - number for number, one in enumerate(joining)}
    for chain in chains([*before, *joining], gap):
        for number, one in enumerate(chain):
            for other in chain[number + 1 :]:
                if was[id(one)] != was[id(other)]:
                    yield one, other


def chains(records: Sequence[T], gap: int) -> list[list[T]]:
    """Return the sessions of a key's records."""
    found: list[list[T]] = []
    for record in sorted(records, key=lambda record: record.at):
        if found and record.at - found[-1][-1].at < gap:
            found[-1].append(record)
        else:
            found.append([record])
    return found
