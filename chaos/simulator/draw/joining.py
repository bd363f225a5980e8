"""Let the last lane of a case join between two batches, at about the instant that others are at."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Final

import msgspec

from chaos.simulator.added_lanes import standing
from chaos.simulator.case import Case, PlannedBatch, is_change, record
from windowing.model.file.pipeline import Pipeline
from windowing.model.file.yaml_lines import load, spell
from windowing.model.lengths import INT64_MAX
from windowing.semantics.lanes import Progress

_TOO_EARLY: Final = 0.04
"""How often it is said to join where windows have closed without it, so that the run is refused."""


def with_joining(rng: random.Random, case: Case, pipeline: Pipeline) -> Case:
    """Return a case whose last lane joins between two batches.

    Returns:
        the case; the same if no lane can join, or the log changes the queries: no lane joins such a
        run (`jobs.checkpoints.partitions`).
    """
    if not pipeline.source.joined or any(is_change(one) for lane in case.lanes for one in lane):
        return case
    lane = pipeline.source.added_lanes[-1]
    steps = [*range(1, len(case.plan) + 1)]
    for step in rng.sample(steps, len(steps)):
        read = [
            [record(event) for event in events[: sum(one.take[number] for one in case.plan[:step])]]
            for number, events in enumerate(case.lanes[: lane.number])
        ]
        stands = standing(pipeline, read) if any(read) else {}
        if not stands or max(stands.values()) >= INT64_MAX - 1:
            # Nothing is there yet, or the run is at its end.
            continue
        document = load(case.pipeline)
        document["source"]["joined"][lane.name]["at"] = _joins_at(rng, stands, dict(lane.at))
        text = spell(document)
        return msgspec.structs.replace(case, pipeline=text, plan=_joining(rng, case.plan, step))
    return case


def _joins_at(
    rng: random.Random, stands: Mapping[str, Progress], drawn: Mapping[str, int]
) -> dict[str, int]:
    """Return where the lane joins, by attribute: mostly where the others are, or beyond."""
    by = -1 if rng.random() < _TOO_EARLY else rng.choice([0, 0, 0, 1])
    ahead = rng.random() < 0.3
    at: dict[str, int] = {}
    for name, progress in stands.items():
        if progress > -INT64_MAX + 1:
            least = int(progress) + by
            at[name] = max(least, drawn.get(name, least)) if ahead else least
        elif name in drawn:
            at[name] = drawn[name]
    return at


def _joining(
    rng: random.Random, plan: tuple[PlannedBatch, ...], step: int
) -> tuple[PlannedBatch, ...]:
    if step == len(plan):
        return (*plan, PlannedBatch(order=rng.randint(0, 999), joins=True))
    joins = msgspec.structs.replace(plan[step], joins=True)
    return (*plan[:step], joins, *plan[step + 1 :])
