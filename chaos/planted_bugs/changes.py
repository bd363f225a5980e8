"""Defects of how changes of the queries are judged by lanes, and taken by drivers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import msgspec

from chaos.planted_bugs.conditions import computing, several_lanes, some_query, with_extents_in_time
from chaos.planted_bugs.planted import planted
from chaos.simulator.platform.job import SimulatedJob
from windowing.engine.changes import Claim, Judgement, _is_late, _settled, judged
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.wids import NOTHING_YET, Numbering
from windowing.engine.windows.active import ActiveLanes
from windowing.model.control import WINDOWS_MAX
from windowing.model.file.allowed import _permits
from windowing.model.file.changes import Change, Copy, _ends
from windowing.model.file.conflicts import Conflict, OwnCopy, Place
from windowing.model.file.pipeline import Pipeline
from windowing.model.source import Source
from windowing.model.windows.sliding import with_activity
from windowing.model.windows.window import Window


class Everything:
    """What has everything, in place of a set."""

    def __contains__(self, _: object) -> bool:
        return True

    def __ge__(self, _: object) -> bool:
        return True


EVERYTHING: Any = Everything()


planted_among_changes = partial(planted, changes=True, shows_in=some_query(with_extents_in_time))


# A driver that continues with the state of the batch in which it found a change of the queries. How
# one gets it: the batch is run again without going back to the version it began with.
@planted_among_changes(
    "change_after_its_batch", "no error, deterministic, conservation, dead letters"
)
class ForwardJob(SimulatedJob):
    def change(self, after: Pipeline, batch: int, dies_at: int | None) -> None:
        for task, state in self._opened.items() if batch else ():
            kept = state.store.snapshot()
            self._files.commit(task, batch, self._files.load(task, batch - 1), kept)
        super().change(after, batch, dies_at)


# Lanes that take a query whose first records they have read already. How one gets it: records are
# taken to be no later than progress, which is their lower bound.
@planted_among_changes(
    "change_late_by_progress_alone",
    "no error, deterministic, dead letters, conservation",
    at="windowing.engine.changes:_is_late",
)
def late_by_progress(change: Change, reached: LaneProgress) -> bool:
    return _is_late(change, msgspec.structs.replace(reached, newest_us=NOTHING_YET))


# A driver that does not finish what another one, which died in a change of the queries, began.
# How one gets it: each file is replaced whole, but not all of them together.
@planted_among_changes("change_left_half_done", "no error, deterministic")
class ForgetfulJob(SimulatedJob):
    def change(self, after: Pipeline, batch: int, dies_at: int | None) -> None:
        if dies_at is None:
            super().change(after, batch, None)
            return
        steps = self._file.change(after, batch, self._tasks.stateful)
        for _ in zip(range(dies_at + 1), steps, strict=False):
            self._cluster.restart()


_HARMLESS = "chaos.simulator.draw.swing:Swing"


class Ours(Everything):
    """All classes that can be imported."""

    def __ge__(self, other: Any) -> bool:
        return set(other) <= {_HARMLESS}


_OURS: Any = Ours()


planted_in_permits = partial(
    planted,
    expected="dead letters, deterministic, conservation, no error",
    at="windowing.model.file.allowed:_permits",
    hostile=True,
)


# A lane that takes queries with classes that only the log names. How one gets it: a query of the
# log is read as one of the file, whose author may import anything.
@planted_in_permits("class_of_the_log")
def every_class(of: Any) -> Any:
    return replace(_permits(of), classes=_OURS, uses=EVERYTHING)


# A lane that gives a class of the file a field of another type than the file does. How one gets
# it: a class that is known is taken to be right for everything.
@planted_in_permits("class_over_another_type", shows_in=some_query(computing(("python",))))
def any_use(of: Any) -> Any:
    return replace(_permits(of), uses=EVERYTHING)


planted_among_lanes = partial(planted, hostile=True, shows_in=some_query(several_lanes))


# A lane that writes no dead letter for a copy that was taken, and refused later. How one gets it:
# another lane's copy is in another batch, and the lane has passed its own.
@planted_among_lanes(
    "copy_refused_afterwards_lost",
    "dead letters, conservation",
    at="windowing.engine.changes:_settled",
)
def where_it_is(pipeline: Pipeline) -> Mapping[tuple[str, int], list[Any]]:
    lane = pipeline.source.lane
    found = _settled(pipeline)
    return {
        place: [one for one in letters if (lane(one.partition), one.offset) == place]
        for place, letters in found.items()
    }


# Lanes that write a dead letter for each name for which a copy is refused. How one gets it:
# conflicts are names, and dead letters are records.
@planted_among_lanes(
    "copy_refused_twice",
    "dead letters, conservation, exactly once",
    at="windowing.engine.changes:_settled",
)
def for_each_name(pipeline: Pipeline) -> Mapping[tuple[str, int], list[Any]]:
    refused = [
        (lane, own.at) for copies in pipeline.conflicts.values() for lane, own in copies.items()
    ]
    return {
        place: [one for one in letters for _ in range(refused.count(_place(pipeline, one)))]
        for place, letters in _settled(pipeline).items()
    }


def _place(pipeline: Pipeline, letter: Any) -> tuple[str, int]:
    return pipeline.source.lane(letter.partition), letter.offset


# A driver for which the copy of a query that was read first stands. How one gets it: what is
# there is compared with what comes.
@planted_among_lanes(
    "first_copy_wins",
    "dead letters, deterministic, conservation, no error, repeatable",
    at="windowing.model.file.changes:with_copy",
)
def beside_the_first(
    conflict: Conflict, lane: str, own: OwnCopy, source: Source, refused: Mapping[Place, Place]
) -> Conflict:
    del source, refused
    if any(copy.query != own.query for copy in conflict.values()):
        own = own.model_copy(update={"refused_at": (lane, own.at)})
    return {**conflict, lane: own}


# A driver for which a query ends at the instant that was read first. How one gets it: a query
# that has an end is not given another one.
@planted_among_lanes(
    "first_end_wins",
    "deterministic, conservation, closing, dead letters, no error",
    at="windowing.model.file.changes:_ends",
)
def at_the_first(
    known: Mapping[str, Any], left: Mapping[str, int], until_us: int, copy: Copy
) -> dict[str, Any]:
    return _ends(known, left, known.get("until", until_us), copy)


# A lane that judges its records by the end that another lane has said. How one gets it: a query
# has one end, which all of its lanes are given.
@planted_among_lanes(
    "judged_by_the_earliest_end",
    "conservation, dead letters, deterministic",
    at="windowing.engine.windows.sliding_lane:ActiveLanes",
)
class HastyActiveLanes(ActiveLanes):
    @classmethod
    def of(cls, window: Window, source: Source, numbers: Numbering | None = None) -> Self | None:
        if window.active is not None:
            one_end = replace(window.active, later=())
            window = with_activity(window, one_end, timed=True)
        return super().of(window, source, numbers)


# A lane that takes queries with their own limits of entries. How one gets it: the limit is
# taken for a protection, and it ends the run.
@planted_in_permits("limit_of_entries_of_the_log")
def every_limit(of: Any) -> Any:
    return replace(_permits(of), entries=EVERYTHING)


# A lane that takes one query more than its source permits. How one gets it: "more than" where "as
# many as" is meant.
@planted_in_permits("one_query_too_many")
def without_the_first(of: Any) -> Any:
    found = _permits(of)
    return replace(found, added={lane: added[1:] for lane, added in found.added.items()})


# A lane that takes queries with one window more at once than are permitted. How one gets it: the
# windows are counted from zero.
planted(
    "one_window_too_many",
    "dead letters, deterministic, conservation",
    at="windowing.model.file.allowed:WINDOWS_MAX",
    hostile=True,
)(WINDOWS_MAX + 1)


# A lane that counts the queries of a record, and not those that it has added before. How one gets
# it: the limit is checked where the record is parsed.
@planted_in_permits("queries_of_a_record_counted")
def beside_none(of: Any) -> Any:
    return replace(_permits(of), added={})


# A lane that limits the windows of each query, and not those of all that it has added. How one
# gets it: each query is checked by itself.
planted(
    "windows_of_a_query_counted",
    "dead letters, deterministic, conservation",
    at="windowing.model.file.allowed:LANE_CELLS_MAX",
    hostile=True,
)(1 << 40)


_JUDGED = ("windowing.engine.lane:judged", "windowing.engine.fused.settler:judged")


# Changes behind one that is refused are passed over. How one gets it: `break` for `continue`.
@planted_among_changes(
    "change_behind_a_refused_one",
    "no error, deterministic, dead letters, conservation",
    at=_JUDGED,
    hostile=True,
)
def up_to_a_refused_one(pipeline: Pipeline, partition: int, found: Sequence[Claim]) -> Judgement:
    for number in range(len(found)):
        judgement = judged(pipeline, partition, found[: number + 1])
        if len(judgement.refused):
            return judgement
    return judged(pipeline, partition, found)


# Dead letters of refused changes are those of the last one in a batch. How one gets it: one frame,
# assigned where it is to be added to.
@planted_among_changes(
    "last_refused_change_only", "dead letters, conservation", at=_JUDGED, hostile=True
)
def of_the_last_refused(pipeline: Pipeline, partition: int, found: Sequence[Claim]) -> Judgement:
    judgement = judged(pipeline, partition, found)
    judgement.refused = judgement.refused.tail(1)
    return judgement
