"""Changes of the queries in a lane's log: what the lane knows before each, and whether it takes it.

A lane takes its copy of a change if all of its past lies before the change: then a query that
joins has missed none of its records, and of one that leaves no window was sent that is not to be
(`adr/0040`). A plan cannot change by itself: what is taken, and the plan does not know, is told,
and whoever runs the plan goes on with another one from the state before the batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import msgspec
import polars as pl

from windowing.engine.columns import KEY_BOUND, KIND, OFFSET, PARTITION, REFUSAL
from windowing.engine.input.control import ControlError, read_control
from windowing.engine.input.pack import CHANGE
from windowing.engine.input.refusals import change_columns
from windowing.engine.parcel import DEAD_LETTER_SCHEMA, Taken
from windowing.engine.progress.clock import Clock, ClockState, Rows
from windowing.engine.progress.reached import Reached
from windowing.model import Pipeline
from windowing.model.file.changes import Change, Copy, changed, knows, parse_change
from windowing.model.run_errors import WindowingError


class QueriesChanged(WindowingError):
    """A batch that was run with a plan that does not know its changes of the queries.

    Attributes:
        taken: the changes.
    """

    def __init__(self, taken: Sequence[Taken]) -> None:
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
        offset: its place.
        text: its JSON.
        reached: the lane's progress by event time before it; `progress_us` is that of the lane, or
            of its furthest key.
    """

    offset: int
    text: str
    reached: Reached


@dataclass
class Judgement:
    """What becomes of a lane's copies of changes in a batch.

    Attributes:
        taken: the first that the lane takes and the plan does not know; None: there is none.
        refused: dead letters of the others that the plan does not know.
    """

    taken: Taken | None = None
    refused: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=DEAD_LETTER_SCHEMA))


def claims(rows: Rows, clock: Clock, state: ClockState, keys: pl.DataFrame | None) -> list[Claim]:
    """Return the changes among the rows of a chunk.

    Args:
        rows: the chunk.
        clock: the lane's clock of event time.
        state: of the clock before the chunk; it stays as it is.
        keys: its table of keys before the chunk.
    """
    is_change = (rows.all[KIND].to_numpy() == CHANGE) & ~rows.after_end
    found = []
    for at in is_change.nonzero()[0].tolist():
        course = clock.run(_until(rows, at), deepcopy(state), keys)
        reached = course.reached
        if course.keys is not None and len(course.keys):
            furthest = int(course.keys[KEY_BOUND].max())  # type: ignore[arg-type]
            reached = msgspec.structs.replace(
                reached, progress_us=max(reached.progress_us, furthest)
            )
        found.append(Claim(int(rows.all[OFFSET][at]), rows.all[REFUSAL][at], reached))
    return found


def _until(rows: Rows, at: int) -> Rows:
    """Return the rows of a chunk before a position."""
    records = int(rows.is_data[:at].sum())
    return Rows(
        rows.all[:at], rows.data[:records], rows.is_data[:at], rows.after_end[:at], rows.dead
    )


def judged(pipeline: Pipeline, partition: int, found: Sequence[Claim]) -> Judgement:
    """Decide which changes a lane takes.

    Args:
        pipeline: the pipeline of the plan.
        partition: the lane's number.
        found: the changes in a batch, in the order of the lane.

    Raises:
        ConflictingChanges: another lane changes a query in another way.
    """
    lane, judgement = pipeline.source.lane(partition), Judgement()
    refused: list[tuple[int, str, str]] = []
    for claim in found:
        if knows(pipeline, lane, claim.offset):
            continue
        change = parse_change(json.loads(claim.text))
        assert change is not None  # noqa: S101 - the packer has looked at its shape
        if _is_late(change, claim.reached):
            refused.append((claim.offset, "change_too_late", claim.text))
        elif changed(pipeline, Copy(lane, claim.offset, change)) is None:
            refused.append((claim.offset, "malformed", claim.text))
        else:
            # Those after it are judged when the plan knows it.
            judgement.taken = Taken(partition, claim.offset, claim.text)
            break
    if refused:
        judgement.refused = _dead_letters(partition, refused)
    return judgement


def _is_late(change: Change, reached: Reached) -> bool:
    for query in change.added.values():
        if query["from"] <= reached.newest_us or query["from"] < reached.progress_us:
            return True
    return any(until_us < reached.progress_us for until_us in change.removed.values())


def _dead_letters(partition: int, refused: Iterable[tuple[int, str, str]]) -> pl.DataFrame:
    columns = pl.DataFrame(
        [*refused], schema={OFFSET: pl.Int64, "reason": pl.String, "text": pl.String}, orient="row"
    )
    here = pl.lit(partition, dtype=pl.Int32).alias(PARTITION)
    query = pl.lit(None, dtype=pl.String).alias("query")
    return columns.select(here, OFFSET, query, **change_columns())


def is_change(control: bytes) -> bool:
    """Return whether a control record's JSON is a change of the queries."""
    try:
        return read_control(control).changes
    except ControlError:
        return False


def after_all(pipeline: Pipeline, taken: Iterable[Taken]) -> Pipeline:
    """Return a pipeline with the changes that lanes have taken.

    Raises:
        ConflictingChanges: two lanes change a query in different ways.
    """
    for one in sorted(taken, key=lambda taken: taken.partition):
        change = parse_change(json.loads(one.text))
        assert change is not None  # noqa: S101 - as above
        copy = Copy(pipeline.source.lane(one.partition), one.offset, change)
        after = changed(pipeline, copy)
        # Another lane's change in the same batch may have made this one impossible for good.
        pipeline = pipeline if after is None else after
    return pipeline
