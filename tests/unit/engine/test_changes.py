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

from chaos.simulator.case import Case, record
from chaos.simulator.draw.log import draw_log
from chaos.simulator.draw.pipeline import draw_pipeline
from chaos.simulator.draw.wish import Wish
from chaos.simulator.platform.changed_log import with_change
from tests.sampling import sampled
from windowing.engine.plan import plan_of
from windowing.engine.reading.batches import batches, interleave
from windowing.model import Pipeline, parse_pipeline
from windowing.model.fates import Counts
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.runtime.local import LocalEngine, Output
from windowing.semantics import Outcome, evaluate
from windowing.semantics.view import effective

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


def changing(seed: int) -> tuple[Pipeline, list[Any]]:
    """A pipeline, and a log that changes its queries."""
    rng = random.Random(seed)
    pipeline = parse_pipeline(draw_pipeline(rng, WISH))
    case = Case("", "slackwater", pipeline.text, draw_log(rng, pipeline, WISH), ())
    case = with_change(rng, case, pipeline)
    return parse_pipeline(case.pipeline), [record(event) for lane in case.lanes for event in lane]


@pytest.mark.parametrize("seed", sampled(SEEDS, every=2))
def test_the_engine_takes_the_changes_that_the_definition_takes(seed: int) -> None:
    compare(random.Random(seed), *changing(seed))


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
        pipeline, log = changing(seed)
        after = effective(pipeline, log)
        dead = {letter.reason for letter in evaluate(pipeline, log).dead}
        rows = {row.query for row in evaluate(pipeline, log).rows}
        written = json.dumps(yaml.safe_load(after.text)["queries"])
        seen |= {"too late"} if "change_too_late" in dead else set()
        seen |= {"joined"} if "joined" in written else set()
        seen |= {"left"} if "left" in written else set()
        seen |= {"rows of a query that joined"} if "joins" in rows else set()
    assert seen == {"too late", "joined", "left", "rows of a query that joined"}
