"""Run all cases of the window language on Spark in one stream.

A case that must be rejected, before or while its input is read, is judged on the local engine: on
Spark the error would end the stream of all cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from conformance.drivers import wid_local
from conformance.drivers.driver import Outcome
from conformance.wid import judge as wid
from windowing.engine.reading.batches import batches

if TYPE_CHECKING:
    from conformance.wid.case import Case
    from windowing.engine.reading.pack import RawRows
    from windowing.model import Pipeline
    from windowing.runtime.local import Output

    Batches = Sequence[Mapping[int, RawRows]]
    RunAll = Callable[[Sequence[tuple[Pipeline, Batches]]], list[Output]]

_BATCHES = 3


class OnSpark:
    """The engine on Spark, which runs all cases in one stream at the first request.

    Args:
        cases: all cases that will be requested.
        interleavings: number of other orders of arrival that must give the same result.
    """

    name = "engine on Spark"

    def __init__(self, cases: Sequence[Case], interleavings: int, run_all: RunAll) -> None:
        self._cases, self._interleavings, self._run_all = cases, interleavings, run_all

    def run(self, case: Case, /) -> Outcome:
        """Return the verdicts on a case's part of the stream, and the definition's."""
        return Outcome(tuple(self._verdicts[case.id]))

    @cached_property
    def _verdicts(self) -> dict[str, list[wid.Verdict]]:
        found = judge(self._cases, self._interleavings, self._run_all)
        return {case.id: verdicts for case, verdicts in zip(self._cases, found, strict=True)}


def judge(
    cases: Sequence[Case], interleavings: int, run_all: RunAll
) -> Iterator[list[wid.Verdict]]:
    """Judge cases by the engine on Spark, and the rest by the definition.

    So many other orders of arrival, `interleavings`, must give the same result. `run_all` runs many
    pipelines on Spark.
    """
    refused = {case.id: "error" in wid.by_definition(case) for case in cases}
    accepted = [case for case in cases if not refused[case.id]]
    found = iter(_on_spark(accepted, interleavings, run_all))
    for case in cases:
        if refused[case.id]:
            yield wid_local.judge(case, interleavings)
        else:
            yield [next(found), wid.judge(case, wid.by_definition, "definition", interleavings)]


def _on_spark(cases: Sequence[Case], interleavings: int, run_all: RunAll) -> list[wid.Verdict]:
    parts = [wid_local.engine_part(case) for case in cases]
    runs = []
    for part in parts:
        # The same orders of arrival as in `wid.judge`.
        for order in (part, *(wid.shuffled(part, seed) for seed in range(interleavings))):
            log = list(wid_local.entries_of(order))
            rows = max(1, -(-len(log) // _BATCHES))
            runs.append((wid_local.pipeline_of(order), list(batches(log, rows))))
    outputs = run_all(runs)
    found = []
    for number, part in enumerate(parts):
        first = number * (1 + interleavings)
        given = iter(outputs[first : first + 1 + interleavings])
        evaluate = partial(_next, given)
        found.append(wid.judge(part, evaluate, "engine on Spark", interleavings))
    return found


def _next(given: Iterator[Output], order: Case) -> wid.Expected:
    return wid_local.expected_of(order, next(given))
