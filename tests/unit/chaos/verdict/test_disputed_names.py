"""Output of runs whose lanes gave one name to different queries: that name is passed over."""

from __future__ import annotations

import json
from dataclasses import replace

from chaos.readers.output import output_of
from chaos.verdict.verify import verify
from tests.strategies import Entry
from tests.unit.chaos.verdict.test_verify import PIPELINE
from windowing.model import parse_pipeline
from windowing.model.rows import DeadLetter
from windowing.semantics import evaluate
from windowing.semantics.effective import effective


def test_dead_letters_of_a_name_that_lanes_dispute_are_passed_over() -> None:
    """A run had written some before it knew; those of any other name count."""
    add = {"window": "RANGE 10 us SLIDE 10 us WATTR ts", "group_by": ["k"], "from": 20}
    log = [
        Entry("s", lane, 0, None, json.dumps({"queries": {"add": {"new": query}}}).encode(), None)
        for lane, query in enumerate({**add, "aggregates": {name: "count"}} for name in "ab")
    ]
    asked = parse_pipeline(PIPELINE.replace("partitions: 2", "partitions: 2\n  control: all"))
    pipeline = effective(asked, log)
    assert [*pipeline.conflicts] == ["new"]
    outcome, early = evaluate(pipeline, log), DeadLetter("s", 0, 7, "new", "late")
    assert [letter.reason for letter in outcome.dead] == ["not_allowed"]
    for letter, is_right in ((early, True), (replace(early, query="w"), False)):
        output = output_of(outcome.rows, [*outcome.dead, letter], "run")
        assert verify(pipeline, log, output).ok is is_right
