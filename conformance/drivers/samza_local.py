"""Run scenarios of the window operator as pipelines, on the local engine and on Spark.

The expected rows and dead letters are those of all steps together, since neither depends on the
division into calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from conformance.drivers.driver import NotExpressible, Outcome
from conformance.drivers.samza_pipeline import AsPipeline, as_pipeline, is_join
from conformance.samza.case import Scenario
from conformance.samza.judge import rows_of, spelled
from conformance.wid.judge import Verdict
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline
from windowing.model.rows import Row
from windowing.runtime import local

if TYPE_CHECKING:
    from windowing.engine.reading.pack import RawRows

    Batches = Sequence[Mapping[int, RawRows]]
    RunAll = Callable[[Sequence[tuple[Pipeline, Batches]]], list[local.Output]]

_BATCH_ROWS = (1, 4, 1000)
_ON_SPARK = 3


class Local:
    """The local engine, running pipelines.

    Args:
        interleavings: number of other orders of arrival that must give the same result.
    """

    name = "engine"

    def __init__(self, interleavings: int) -> None:
        self._interleavings = interleavings

    def run(self, scenario: Scenario, /) -> Outcome | NotExpressible:
        """Run a scenario as a pipeline, in several batch cuts and orders of arrival."""
        question = as_pipeline(scenario)
        if isinstance(question, NotExpressible):
            return question
        return Outcome((judge(question, self._interleavings),))


class OnSpark:
    """The engine on Spark, which runs all scenarios in one stream at the first request.

    Args:
        scenarios: all scenarios that will be requested.
    """

    name = "engine on Spark"

    def __init__(self, scenarios: Iterable[Scenario], interleavings: int, run_all: RunAll) -> None:
        self._pipelines = {scenario.id: as_pipeline(scenario) for scenario in scenarios}
        self._interleavings, self._run_all = interleavings, run_all

    def run(self, scenario: Scenario, /) -> Outcome | NotExpressible:
        """Return the verdict on a scenario's part of the stream."""
        question = self._pipelines[scenario.id]
        if isinstance(question, NotExpressible):
            return question
        return Outcome((self._verdicts[scenario.id],))

    @cached_property
    def _verdicts(self) -> dict[str, Verdict]:
        questions = [one for one in self._pipelines.values() if isinstance(one, AsPipeline)]
        found = judge_on_spark(questions, self._interleavings, self._run_all)
        return {verdict.case: verdict for verdict in found}


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
    runs = []
    for question in questions:
        for order in _orders(question.once(), interleavings):
            rows = max(1, -(-len(order.log) // _ON_SPARK))
            runs.append((order.pipeline, list(batches(order.log, rows, order.pipeline))))
    outputs = iter(run_all(runs))
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
