"""Lanes that write a dead letter for each name for which a copy is refused.

Defect: a record that adds two queries, both of which another lane denies, is two dead letters.
How one gets it: conflicts are names, and dead letters are records.
Expected: an identity stands twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import believing
from chaos.planted_bugs.conditions import several_lanes, some_query
from windowing.engine.changes import _settled
from windowing.model.file.pipeline import Pipeline


def for_each_name(pipeline: Pipeline) -> Mapping[tuple[str, int], list[Any]]:
    """Return the copies that are refused, each as often as it has names that are."""
    refused = [
        (lane, own.at) for copies in pipeline.conflicts.values() for lane, own in copies.items()
    ]
    return {
        place: [one for one in letters for _ in range(refused.count(_place(pipeline, one)))]
        for place, letters in _settled(pipeline).items()
    }


def _place(pipeline: Pipeline, letter: Any) -> tuple[str, int]:
    return pipeline.source.lane(letter.partition), letter.offset


BUG = planted_bug(
    believing("copy_refused_twice", {"windowing.engine.changes:_settled": for_each_name}),
    *("dead letters", "conservation", "exactly once"),
    shows_in=some_query(several_lanes),
)
