"""Changes of the queries in a lane's log: what the lane knows before each, and whether it takes it.

A lane takes its copy of a change if all of its past lies before the change: then a query that
joins has missed none of its records, and of one that leaves no window was sent that is not to be
(`adr/0040`). A plan cannot change by itself: what is taken, and the plan does not know, is
reported, and whoever runs the plan continues with another one from the state before the batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import polars as pl

from windowing.engine.columns import KEY_BOUND, KIND, OFFSET, PARTITION, REFUSAL
from windowing.engine.effects import took_effect
from windowing.engine.progress.clock import Clock, ClockState, Rows
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.reading.pack import CHANGE
from windowing.engine.reading.refusals import change_columns
from windowing.engine.storage.parcel import DEAD_LETTER_SCHEMA, TakenChange
from windowing.engine.wids import NOTHING_YET
from windowing.model import Pipeline
from windowing.model.file.changes import Change, Copy, changed, read_change
from windowing.model.file.conflicts import Place, number_of
from windowing.model.run_errors import WindowingError


class QueriesChanged(WindowingError):
    """A batch that was run with a plan that does not know its changes of the queries."""

    def __init__(self, taken: Sequence[TakenChange]) -> None:
        self.taken = tuple(taken)
        texts = "; ".join(dict.fromkeys(one.text for one in taken))
        super().__init__(
            f"the log changes the queries of the pipeline: {texts}: a job of `slackwater submit` "
            "goes on with them; a program of your own has to be started again from the beginning "
            "of the log, with these queries in its file"
        )


class Claim(msgspec.Struct, array_like=True):
    """A copy of a change, and what its lane knows just before it.

    Attributes:
        text: its JSON.
        reached: the lane's progress by event time before it; `progress_us` is that of the lane, or
            of its furthest key.
    """

    offset: int
    text: str
    reached: LaneProgress


@dataclass
class Judgement:
    """What becomes of a lane's copies of changes in a batch.

    Attributes:
        taken: those that the lane takes and the plan does not know, in order.
        refused: dead letters; also of another lane's copy, if one that the plan knows settled it.
    """

    taken: list[TakenChange] = field(default_factory=list)
    refused: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=DEAD_LETTER_SCHEMA))


def claims(rows: Rows, clock: Clock, state: ClockState, keys: pl.DataFrame | None) -> list[Claim]:
    """Return the changes among the rows of a chunk.

    Args:
        clock: the lane's clock of event time.
        state: of the clock before the chunk; it stays as it is.
        keys: its table of keys before the chunk.
    """
    is_change = (rows.all[KIND].to_numpy() == CHANGE) & ~rows.after_end
    places, found = is_change.nonzero()[0].tolist(), list[Claim]()
    if not places:
        return found
    # From one to the next, so that many of them cost no more than the chunk.
    at, own, reached = 0, deepcopy(state), state.reached
    for place in places:
        if place > at:
            course = clock.run(_between(rows, at, place), own, keys)
            keys, reached, at = course.keys, course.reached, place
        furthest = NOTHING_YET
        if keys is not None and len(keys):
            furthest = int(keys[KEY_BOUND].max())  # type: ignore[arg-type]
        furthest = max(reached.progress_us, furthest)
        known = msgspec.structs.replace(reached, progress_us=furthest)
        found.append(Claim(int(rows.all[OFFSET][place]), rows.all[REFUSAL][place], known))
    return found


def _between(rows: Rows, begin: int, end: int) -> Rows:
    first, last = int(rows.is_data[:begin].sum()), int(rows.is_data[:end].sum())
    part = slice(begin, end)
    data = rows.data[first:last]
    withheld = None if rows.withheld is None else rows.withheld[first:last]
    return Rows(rows.all[part], data, rows.is_data[part], rows.after_end[part], rows.dead, withheld)


def judged(pipeline: Pipeline, partition: int, found: Sequence[Claim]) -> Judgement:
    """Decide which changes a lane takes.

    Args:
        found: the changes in a batch, in the order of the lane.
    """
    judgement = Judgement()
    if not found:
        return judgement
    lane, settled = pipeline.source.lane(partition), _settled(pipeline)
    taken = pipeline.log_places
    refused: list[_Refusal] = []
    after = pipeline
    for claim in found:
        if (lane, claim.offset) in taken:
            refused += settled.get((lane, claim.offset), ())
            continue
        change = read_change(claim.text.encode())
        assert change is not None  # noqa: S101 - the packer has looked at its shape
        if _is_late(change, claim.reached):
            refused.append(_Refusal(partition, claim.offset, "change_too_late", claim.text))
            continue
        # Those behind it are judged as if it were known, so that a batch is run again once.
        new = changed(after, Copy(lane, claim.offset, change))
        if isinstance(new, str):
            refused.append(_Refusal(partition, claim.offset, new, claim.text))
        else:
            after = new
            judgement.taken.append(TakenChange(partition, claim.offset, claim.text))
    if refused:
        judgement.refused = _dead_letters(refused)
        took_effect("changes refused", len(refused))
    return judgement


class _Refusal(NamedTuple):
    """A copy that is a dead letter."""

    partition: int
    offset: int
    reason: str
    text: str


def _settled(pipeline: Pipeline) -> dict[Place, list[_Refusal]]:
    """Return the copies that are refused, by the place of that which settled it."""
    found: dict[Place, dict[Place, _Refusal]] = {}
    for name, conflict in pipeline.conflicts.items():
        for lane, own in conflict.items():
            if own.refused_at is not None:
                number = number_of(pipeline.source, lane)
                letter = _Refusal(number, own.at, "not_allowed", name)
                found.setdefault(own.refused_at, {}).setdefault((lane, own.at), letter)
    return {place: [*letters.values()] for place, letters in found.items()}


def _is_late(change: Change, reached: LaneProgress) -> bool:
    for query in change.added.values():
        if query["from"] <= reached.newest_us or query["from"] < reached.progress_us:
            return True
    return any(until_us < reached.progress_us for until_us in change.removed.values())


def _dead_letters(refused: Iterable[_Refusal]) -> pl.DataFrame:
    schema = {PARTITION: pl.Int32, OFFSET: pl.Int64, "reason": pl.String, "text": pl.String}
    columns = pl.DataFrame([*refused], schema=schema, orient="row")
    query = pl.lit(None, dtype=pl.String).alias("query")
    return columns.select(PARTITION, OFFSET, query, **change_columns())


def after_all(pipeline: Pipeline, taken: Iterable[TakenChange]) -> Pipeline:
    """Return a pipeline with the changes that lanes have taken."""
    for one in sorted(taken, key=lambda taken: (taken.partition, taken.offset)):
        change = read_change(one.text.encode())
        assert change is not None  # noqa: S101 - as above
        copy = Copy(pipeline.source.lane(one.partition), one.offset, change)
        after = changed(pipeline, copy)
        # Tables that queries share may have no place for it beside another lane's.
        pipeline = pipeline if isinstance(after, str) else after
    return pipeline
