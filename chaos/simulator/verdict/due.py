"""When a row is due: the first batch after which the definition has it.

The definition is evaluated on the part of the log delivered after some of the batches: after every
batch of a short run, after a few of a long one, since each evaluation rereads the log.
"""

from __future__ import annotations

import json
import math
import random
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from chaos.simulator.case import SimulatedRecord
from chaos.simulator.history import SimulationHistory
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import Flow
from windowing.model.rows import row_line
from windowing.model.rules import closes_by_all_lanes
from windowing.semantics import Outcome, evaluate

_ALL_BELOW = 12
_SOME = 6


def looked_at(batches: int) -> list[int]:
    """Return the batches after which to evaluate the definition, always including the last."""
    if batches <= _ALL_BELOW:
        return [*range(batches)]
    some = random.Random(batches).sample(range(batches - 1), _SOME)
    return [*sorted(some), batches - 1]


def prefix(
    lanes: Sequence[Sequence[SimulatedRecord]], ends: Sequence[int]
) -> list[SimulatedRecord]:
    """Return the delivered part of the log, given the number of records of each lane."""
    return [record for lane, end in zip(lanes, ends, strict=True) for record in lane[:end]]


def outcomes_of(
    pipeline: Pipeline, lanes: Sequence[Sequence[SimulatedRecord]], ends: Sequence[Sequence[int]]
) -> dict[int, Outcome]:
    """Return the definition's results after the selected batches, by batch."""
    return {batch: evaluate(pipeline, prefix(lanes, ends[batch])) for batch in looked_at(len(ends))}


def closing(
    pipeline: Pipeline, history: SimulationHistory, outcomes: Mapping[int, Outcome]
) -> Iterator[str]:
    """Compare the batch of each row with the first one after which the definition has it."""
    timed = {query.name for query in pipeline.flows if closes_at_a_time(pipeline, query)}
    looked = sorted(outcomes)
    due: dict[str, int] = {}
    for number in looked:
        for row in outcomes[number].rows:
            due.setdefault(row_line(row), number)
    for number, batch in sorted(history.batches.items()):
        # Between two evaluations, a row may be due at any batch after the first, up to the second.
        here = bisect_left(looked, number)
        first_look = looked[here] if here < len(looked) else number
        stands_us = math.inf
        if number in outcomes:
            progress = outcomes[number].progress.values()
            stands_us = min(-math.inf if us is None else us for us in progress)
        for _, line in batch.rows:
            fields = json.loads(line)
            in_time = fields["query"] in timed and fields["pane"] == "full"
            if in_time and fields["window_end"] > stands_us:
                yield f"sent in batch {number}, while the stream stood at {stands_us}: {line}"
                return
            if line in due and first_look != due[line]:
                when = "early" if first_look < due[line] else "late"
                yield f"due in batch {due[line]}, and sent too {when}, in batch {number}: {line}"
                return


def closes_at_a_time(pipeline: Pipeline, query: Flow) -> bool:
    """Whether a query's windows end at an event time, by the progress of lanes and not of keys."""
    source = pipeline.source
    keyed = source.disorder.progress_attr is not None
    return closes_by_all_lanes(query, source.event_time.field) and not keyed
