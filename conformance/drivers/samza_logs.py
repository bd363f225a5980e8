"""Scenarios of the window operator whose rows depend on the log alone.

The definition reads the whole log at once, and a pipeline runs it on the local engine or on Spark.
So they judge the rows and dead letters of all steps together, not call by call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from conformance.cases import Driver, NotExpressible, Verdict
from conformance.drivers.samza_pipeline import AsPipeline, as_pipeline, is_join
from conformance.drivers.wid import RunAll, in_few_batches
from conformance.samza import Scenario, rows_of, setup_of, spell_rows, spelled
from windowing.engine.reading.batches import batches
from windowing.model.flow import StreamFlow
from windowing.model.record import Bound, Record
from windowing.model.rows import Row
from windowing.runtime import local
from windowing.semantics import flows


def _by_definition(scenario: Scenario) -> list[Verdict] | NotExpressible:
    if not scenario.of_the_log:
        return NotExpressible("it depends on calls or a clock, not on the log alone")
    return [Verdict(scenario.id, DEFINITION.name, _difference(scenario))]


DEFINITION = Driver("definition", _by_definition)


def _difference(scenario: Scenario) -> str | None:
    setup = setup_of(scenario)
    whose = (setup.lanes, setup.disorder, _log(scenario))
    rows: Sequence[Any]
    if isinstance(setup.flow, StreamFlow):
        past_end = bool(setup.options.get("past_end"))
        rows, refused = flows.rows_of(setup.flow, *whose, past_end=past_end)
    else:
        rows, _, refused = flows.pairs_of(setup.flow, *whose)
    steps = scenario.expected["steps"]
    dropping = setup.flow.late.policy == "drop"
    dead = [[letter["lane"], letter["offset"]] for step in steps for letter in step.get("dead", [])]
    for part, wanted, got in (
        ("rows", rows_of(scenario.expected), spell_rows(rows)),
        ("dead", sorted(dead), [] if dropping else sorted([r.lane, r.offset] for r in refused)),
        ("dropped", sum(s.get("dropped", 0) for s in steps), len(refused) if dropping else 0),
    ):
        if spelled(wanted) != spelled(got):
            return f"{part}: expected {spelled(wanted)}, found {spelled(got)}"
    return None


def _log(scenario: Scenario) -> list[Record | Bound]:
    """Return each record once, however often it was delivered."""
    known = {(record.lane, record.offset): record for record in reversed(scenario.records())}
    return list(reversed(known.values()))


_BATCH_ROWS = (1, 4, 1000)


def local_engine(interleavings: int) -> Driver[Scenario]:
    """Return the local engine; so many other orders of arrival must give the same result."""

    def run(scenario: Scenario) -> list[Verdict] | NotExpressible:
        question = as_pipeline(scenario)
        if isinstance(question, NotExpressible):
            return question
        return [judge(question, interleavings)]

    return Driver("engine", run)


def on_spark(
    scenarios: Sequence[Scenario], interleavings: int, run_all: RunAll
) -> Driver[Scenario]:
    """Return the engine on Spark, which runs all these scenarios in one stream when first asked."""
    # By object: a file may have two scenarios of one id.
    pipelines = {id(scenario): as_pipeline(scenario) for scenario in scenarios}
    questions = {key: one for key, one in pipelines.items() if isinstance(one, AsPipeline)}

    @cache
    def verdicts() -> dict[int, Verdict]:
        found = judge_on_spark([*questions.values()], interleavings, run_all)
        return dict(zip(questions, found, strict=True))

    def run(scenario: Scenario) -> list[Verdict] | NotExpressible:
        question = pipelines[id(scenario)]
        return question if isinstance(question, NotExpressible) else [verdicts()[id(scenario)]]

    return Driver("engine on Spark", run, at_once=True)


def judge(question: AsPipeline, interleavings: int) -> Verdict:
    """Run a scenario on the local engine, in several batch cuts and orders of arrival."""
    outputs = (
        local.run(order.pipeline, batches(order.log, rows, order.pipeline))
        for order in _orders(question, interleavings)
        for rows in _BATCH_ROWS
    )
    return _verdict(question, outputs, "engine")


def judge_on_spark(
    questions: Sequence[AsPipeline], interleavings: int, run_all: RunAll
) -> list[Verdict]:
    """Run scenarios on Spark, all in one stream; return the verdicts in their order."""
    orders = [order for one in questions for order in _orders(one.once(), interleavings)]
    outputs = iter(run_all([in_few_batches(one.pipeline, one.log, one.pipeline) for one in orders]))
    return [
        _verdict(question, [next(outputs) for _ in range(1 + interleavings)], "engine on Spark")
        for question in questions
    ]


def _orders(question: AsPipeline, interleavings: int) -> list[AsPipeline]:
    return [question, *(question.shuffled(seed) for seed in range(interleavings))]


def _verdict(question: AsPipeline, outputs: Iterable[local.Output], by: str) -> Verdict:
    wanted = _expected(question.scenario)
    for number, output in enumerate(outputs):
        found = _found(question, output)
        for part, expected in wanted.items():
            if expected != found[part]:
                missing = [one for one in expected if one not in found[part]]
                strange = [one for one in found[part] if one not in expected]
                detail = f"run {number}, {part}: missing {missing}, not expected {strange}"
                return Verdict(question.scenario.id, by, detail)
    return Verdict(question.scenario.id, by, None)


def _expected(scenario: Scenario) -> dict[str, list[str]]:
    """Return final rows and dead letters of all steps, formatted and sorted, without early rows."""
    rows = [row for row in rows_of(scenario.expected) if row.get("pane") != "early"]
    dead = [letter for step in scenario.expected["steps"] for letter in step.get("dead", [])]
    return {"rows": sorted(map(spelled, rows)), "dead": sorted(map(spelled, dead))}


def _found(question: AsPipeline, output: local.Output) -> dict[str, list[str]]:
    spell = _pair if is_join(question.scenario) else _row
    dead = [
        {
            "lane": question.lanes[f"{letter.source}/{letter.partition}"],
            "offset": letter.offset,
            "reason": letter.reason,
        }
        for letter in output.dead_letters
    ]
    rows = [spell(question, row) for row in output.rows]
    return {"rows": sorted(map(spelled, rows)), "dead": sorted(map(spelled, dead))}


def _row(question: AsPipeline, row: Row) -> dict[str, Any]:
    value = row.values["value"]
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a median: the scenarios write whole numbers as ints
    spelling: dict[str, Any] = {
        "window": [row.window_start_us, row.window_end_us],
        "key": row.key[0] if row.key else None,
        "pane": row.pane,
        "revision": row.revision,
        "records": row.records,
        "value": value,
        "offsets": {question.lanes[lane]: list(ends) for lane, ends in row.offsets.items()},
    }
    if row.overflow:
        spelling["overflow"] = list(row.overflow)
    if row.retracts:
        spelling["op"] = "retract"
    if row.absorbed_by is not None:
        spelling |= {"tombstone": True, "absorbed_by": row.absorbed_by}
    return spelling


def _pair(question: AsPipeline, row: Row) -> dict[str, Any]:
    *_, left, left_offset, right, right_offset = row.key
    sides = {}
    for side, lane, offset in (("left", left, left_offset), ("right", right, right_offset)):
        fields = {name: row.values[f"{side}_{name}"] for name in ("ts", "key", "value")}
        sides[side] = {"lane": question.lanes[str(lane)], "offset": offset, **fields}
    return sides
