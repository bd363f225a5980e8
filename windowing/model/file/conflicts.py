"""Names that lanes give to different queries: none of these ever has rows.

A query has rows if every lane has taken the same copy of it, so two different ones of a name have
none, whichever comes first. The copy of the lowest lane stands; each that differs from one in a
lower lane is a dead letter. Both hold for any part of a log, and more of it makes no dead letter
undone (`windowing/adr/0055`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from windowing.model.query import Query
from windowing.model.source import Source
from windowing.model.windows.sliding import least_length

Place = tuple[str, int]
"""The name of a lane, and an offset in it."""

Offset = Annotated[int, Field(strict=True, ge=0)]


class OwnCopy(BaseModel):
    """What a lane has said of a name that another lane has given to another query.

    Attributes:
        at: the offset of its copy.
        query: a digest of what that says.
        cells: how many cells of its rows a record may make, at the most.
        least_us: the earliest end that such a query can have.
        ends: whether the query has an end from the beginning.
        left: the offset of the record that removed it in this lane.
        refused_at: lane and offset of the copy with which this one became a dead letter: itself, or
            one that was read later; None: it stands.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    at: Offset
    query: str
    cells: int
    least_us: int
    ends: bool = False
    left: Offset | None = None
    refused_at: Place | None = None


Conflict = dict[str, OwnCopy]
"""The copies by the names of their lanes."""


def spelled(query: Mapping[str, Any]) -> str:
    """Return the text of a query, by which copies are compared: the order of its names counts."""
    return json.dumps(query, ensure_ascii=False, separators=(",", ":"))


def of_lanes(conflict: Conflict, source: Source) -> list[tuple[str, OwnCopy]]:
    """Return the copies in the order of the lanes' numbers."""
    return sorted(conflict.items(), key=lambda item: number_of(source, item[0]))


def number_of(source: Source, lane: str) -> int:
    """Return the number of a lane of the source, by its name."""
    topic, _, partition = lane.rpartition("/")
    number = source.number(topic, int(partition))
    assert number is not None  # noqa: S101 - names come from the source, or are checked against it
    return number


def windows_of(query: Query) -> int:
    """Return in how many windows of a query a record lies, at the most."""
    return -(-(query.window.range_ or 0) // query.window.slide)


def cells_of(query: Query) -> int:
    """Return how many cells of rows a record may make: a row has ten besides its aggregates."""
    return (windows_of(query) + query.empty_after) * (10 + len(query.aggregates))


def own_copy(offset: int, written: Mapping[str, Any], query: Query) -> OwnCopy:
    """Return what a lane says with its copy.

    Args:
        offset: the place of the copy.
        written: the query as it stands there.
        query: the same, checked.
    """
    active = query.window.active
    assert active is not None  # noqa: S101 - it has a from, by the shape of a change
    assert active.begins_us is not None  # noqa: S101 - the same
    return OwnCopy(
        at=offset,
        query=hashlib.sha256(spelled(written).encode()).hexdigest()[:32],
        cells=cells_of(query),
        least_us=active.begins_us + (1 if active.warmup == "emit" else least_length(query.window)),
        ends=written.get("until") is not None,
    )


def with_copy(
    conflict: Conflict, lane: str, own: OwnCopy, source: Source, refused: Mapping[Place, Place]
) -> Conflict:
    """Return a conflict with one more copy, and with what that refuses.

    Args:
        conflict: the copies so far.
        lane: a lane that has none among them.
        source: numbers the lanes.
        refused: records that are dead letters by another name, each with what settled it.
    """
    found, lower = {**conflict, lane: own}, set[str]()
    for name, copy in of_lanes(found, source):
        if lower - {copy.query} and copy.refused_at is None:
            settled = refused.get((name, copy.at), (lane, own.at))
            found[name] = copy.model_copy(update={"refused_at": settled})
        lower.add(copy.query)
    return found
