"""Queries that join and leave by control records: the engine does what the definition says.

Whatever the copies' places in their lanes, also where one is missing, comes too late, or where the
query could not be.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from chaos.simulator.draw.log import draw_log
from chaos.simulator.draw.pipeline import draw_pipeline
from chaos.simulator.draw.wish import Wish
from chaos.simulator.platform.changed_log import believing
from tests.sampling import sampled
from tests.strategies import Event, entry
from windowing.engine.plan import plan_of
from windowing.engine.reading.batches import batches, interleave
from windowing.model import Pipeline, Query, parse_pipeline
from windowing.model.fates import Counts
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.runtime.local import LocalEngine, Output
from windowing.semantics import Outcome, evaluate
from windowing.semantics.view import effective
from windowing.semantics.windows.classes import extents_of

WISH = Wish(
    classes=("sliding", "keyed sliding"),
    number=False,
    provisional=False,
    refusals=False,
    long=0,
    crowded=0,
    queries_max=2,
    records_max=24,
)
SEEDS = range(24)


def lines(output: Output) -> list[str]:
    return sorted([*row_lines(output.rows), *dead_letter_lines(output.dead_letters)])


def defined(outcome: Outcome) -> list[str]:
    return sorted([*row_lines(outcome.rows), *dead_letter_lines(outcome.dead)])


def inserted(lane: tuple[Event, ...], at: int, control: Any) -> tuple[Event, ...]:
    """The lane with a control record at a position, behind which all offsets move by one."""
    head, tail = lane[:at], lane[at:]
    source, partition = "s", (lane[0]["partition"] if lane else 0)
    offset = head[-1]["offset"] + 1 if head else (tail[0]["offset"] if tail else 0)
    moved = tuple({**event, "offset": event["offset"] + 1} for event in tail)
    own = {"source": source, "partition": partition, "offset": offset, "control": control}
    return (*head, own, *moved)


def drawn(rng: random.Random) -> tuple[Pipeline, list[tuple[Event, ...]]]:
    """A pipeline, and a log that changes its queries once or more."""
    pipeline = parse_pipeline(believing(draw_pipeline(rng, WISH), {"believe": "all"}))
    lanes = [*draw_log(rng, pipeline, WISH)]
    for name in ("new", "newer")[: rng.choice([1, 1, 2])]:
        lanes = added(rng, pipeline, lanes, name)
    for _ in range(rng.choice([0, 1, 1, 2])):
        lanes = removed(rng, pipeline, lanes)
    return pipeline, lanes


def instants(pipeline: Pipeline) -> list[int]:
    """Starts and ends of the windows that a drawn log is about."""
    found = {0}
    for query in pipeline.of(Query):
        found |= {edge for wid in range(12) for edge in extents_of(query).extent(wid)}
    return sorted(found)


def added(
    rng: random.Random, pipeline: Pipeline, lanes: list[tuple[Event, ...]], name: str
) -> list[tuple[Event, ...]]:
    known = rng.choice([*yaml.safe_load(pipeline.text)["queries"].values()])
    query = {key: known[key] for key in known if key not in ("from", "until", "warmup")}
    query |= {"from": rng.choice(instants(pipeline)), "warmup": rng.choice(["skip", "emit"])}
    return copied(rng, lanes, {"queries": {"add": {name: query}}})


def removed(
    rng: random.Random, pipeline: Pipeline, lanes: list[tuple[Event, ...]]
) -> list[tuple[Event, ...]]:
    name = rng.choice(["new", "new", *(query.name for query in pipeline.of(Query)), "nobody"])
    until = rng.choice(instants(pipeline))
    return copied(rng, lanes, {"queries": {"remove": {name: until}}})


def copied(rng: random.Random, lanes: list[tuple[Event, ...]], control: Any) -> Any:
    """Each lane with a copy: mostly early, so that it is taken, and sometimes with none."""
    found = []
    for lane in lanes:
        at = rng.choice([0, rng.randint(0, min(len(lane), 4)), rng.randint(0, len(lane))])
        found.append(lane if rng.random() < 0.08 or not lane else inserted(lane, at, control))
    return found


@pytest.mark.parametrize("seed", sampled(SEEDS, every=2))
def test_the_engine_takes_the_changes_that_the_definition_takes(seed: int) -> None:
    rng = random.Random(seed)
    pipeline, lanes = drawn(rng)
    compare(rng, pipeline, [entry(event) for lane in lanes for event in lane])


def compare(rng: random.Random, pipeline: Pipeline, log: Sequence[Any]) -> None:
    """Compare the engine, by either plan, with the definition: pipeline, rows, letters, counts."""
    after, outcome = effective(pipeline, log), evaluate(pipeline, log)
    for fused in (False, True):
        if fused and plan_of(pipeline).why_lanes is not None:
            continue
        engine = LocalEngine(pipeline, fused=fused, chunk_rows=rng.choice([None, 1, 3]))
        order = interleave(log, rng.randint(0, 99))
        for batch in batches(order, rng.choice([1, 2, 5, 100]), pipeline):
            engine.feed(batch)
        assert engine.pipeline.fingerprint == after.fingerprint
        assert lines(engine.output) == defined(outcome)
        for name, due in outcome.counts.items():
            assert engine.output.counts.get(name, Counts.of()) == due


def test_the_changes_of_these_logs_are_of_all_kinds() -> None:
    """So that the test above has something to compare."""
    seen = set()
    for seed in SEEDS:
        pipeline, lanes = drawn(random.Random(seed))
        log = [entry(event) for lane in lanes for event in lane]
        after = effective(pipeline, log)
        dead = {letter.reason for letter in evaluate(pipeline, log).dead}
        rows = {row.query for row in evaluate(pipeline, log).rows}
        written = json.dumps(yaml.safe_load(after.text)["queries"])
        seen |= {"too late"} if "change_too_late" in dead else set()
        seen |= {"joined"} if "joined" in written else set()
        seen |= {"left"} if "left" in written else set()
        seen |= {"rows of a query that joined"} if "new" in rows else set()
    assert seen == {"too late", "joined", "left", "rows of a query that joined"}
