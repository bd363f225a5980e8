"""The checks of a simulated run: its history against the definition, independent of the engine.

The strongest check follows the log batch by batch: after each batch the sink must hold exactly the
definition's result for the part of the log delivered so far.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from chaos.readers.output import (
    Output,
    count_dead,
    dead_letter_identity,
    row_identity,
)
from chaos.simulator.added_lanes import with_lanes_of
from chaos.simulator.case import SimulatedRecord
from chaos.simulator.history import Batch, Metric, SimulationHistory
from chaos.simulator.verdict.due import closing, outcomes_of
from chaos.simulator.verdict.early import early
from chaos.simulator.verdict.refusals import REFUSALS, as_far_as_committed, lawful, meant
from chaos.verdict.comparison import Comparison
from chaos.verdict.verify import Verdict, verify
from windowing.model.fates import BY_WINDOWS, READ, Counts, names
from windowing.model.file.pipeline import Pipeline
from windowing.model.lengths import INT64_MIN
from windowing.model.rows import dead_letter_line, row_line
from windowing.semantics import Outcome
from windowing.semantics.view import effective

SimulatorCheck = Literal[
    "no error",
    "nothing skipped",
    "deterministic",
    "exactly once",
    "dead letters",
    "conservation",
    "repeatable",
    "progress",
    "closing",
    "sound tables",
    "early rows",
]

CHECKS: dict[SimulatorCheck, str] = {
    "no error": "the engine breaks off where the definition refuses the log, and nowhere else",
    "nothing skipped": "what is damaged, lost or sent again gives an error that names it",
    "deterministic": "the rows are the definition's, byte for byte, revision by revision",
    "exactly once": "no identity stands twice in the sink",
    "dead letters": "the dead letters are the definition's, and each stands there once",
    "conservation": f"{READ} = {' + '.join(names(BY_WINDOWS))}, as the definition counts",
    "repeatable": "a batch that is run again comes to the same rows and dead letters",
    "progress": "each lane's progress is a fact of the log, and never goes back",
    "closing": "a row is sent in the batch that makes it due: not earlier, not later",
    "sound tables": "logs name each file once, tokens are the plans', and the sink tells its rows",
    "early rows": "each shows an open window as it is so far, and is sent if that is new",
}
"""The checks and their meaning, in the order of reports."""


@dataclass(frozen=True)
class Finding:
    """A check that failed.

    Attributes:
        lines: the differences; the first line is a summary.
    """

    check: SimulatorCheck
    lines: tuple[str, ...]


def judge(
    pipeline: Pipeline, lanes: Sequence[Sequence[SimulatedRecord]], history: SimulationHistory
) -> list[Finding]:
    """Check a run.

    `lanes` are the log, by partition in offset order.

    Returns:
        the checks that failed, in the order of `CHECKS`; empty if the run passed.
    """
    if history.error is not None:
        if not lawful(pipeline, lanes, history):
            return [Finding("no error", (history.error,))]
        # Batches before the error are judged like any others.
        history = as_far_as_committed(history)
        lanes = [lane[:end] for lane, end in zip(lanes, _reached(history, lanes), strict=True)]
    pipeline = with_lanes_of(pipeline, pipeline, len(lanes) - history.never_read)
    log = [record for lane in lanes for record in lane]
    try:
        # By itself, the definition follows the part of the log that was delivered.
        outcomes = outcomes_of(pipeline, lanes, history.ends)
        given, pipeline = pipeline, effective(pipeline, log)
        verdict = verify(pipeline, log, _output(pipeline, history))
    except REFUSALS as refusal:
        went_on = f"the run went on, where {meant(refusal)} had to stop it: {refusal}"
        return [Finding("no error", (went_on,))]
    found: dict[SimulatorCheck, list[str]] = {
        "nothing skipped": [f"{what}, and passed over" for what in history.skipped],
        "deterministic": _differing(verdict),
        "exactly once": _duplicated(verdict.rows),
        "dead letters": _dead_letters(verdict),
        "conservation": [str(part) for part in verdict.conservation if not part.ok],
        "repeatable": list(_repeats(history)),
        "progress": list(_progress(history, outcomes)),
        "closing": list(closing(pipeline, history, outcomes)),
        "sound tables": history.unsound,
        "early rows": list(early(given, lanes, history, outcomes)),
    }
    return [Finding(check, tuple(found[check])) for check in CHECKS if found.get(check)]


def _reached(
    history: SimulationHistory, lanes: Sequence[Sequence[SimulatedRecord]]
) -> tuple[int, ...]:
    return history.ends[-1] if history.ends else (0,) * len(lanes)


def _output(pipeline: Pipeline, history: SimulationHistory) -> Output:
    batches = history.batches.values()
    return Output(
        rows=[line for batch in batches for line in batch.rows],
        dead=[line for batch in batches for line in batch.dead],
        counts=_counts(pipeline, history.batches),
        ordered=False,
        name="sink",
    )


def _counts(pipeline: Pipeline, batches: Mapping[int, Batch]) -> dict[str, Counts]:
    """Add up every query's counts; of one that was added, what came before it is outside."""
    nothing, sums = Counts.of(pipeline.source.fates), dict[str, Counts]()
    for metric in (metric for batch in batches.values() for metric in batch.metrics):
        sums[metric.query] = sums.get(metric.query, nothing).plus(metric.counts)
    longest = max(sums.values(), key=lambda counts: counts.read, default=nothing)
    founding = {metric.query for metric in _first_metrics(batches)}
    dead = [line for batch in batches.values() for line in batch.dead]
    found = {}
    for query in pipeline.flows:
        found[query.name] = counts = sums.get(query.name, nothing)
        if batches and query.name not in founding:
            counts = counts.but(dead=count_dead(dead, query.name))
            found[query.name] = counts.since_added(longest)
    return found


def _first_metrics(batches: Mapping[int, Batch]) -> Sequence[Metric]:
    return next((own for _, batch in sorted(batches.items()) if (own := batch.metrics)), [])


def _differing(verdict: Verdict) -> list[str]:
    lost, _, differing = verdict.rows.totals
    if not lost and not differing:
        return []
    shown = Verdict("", (), verdict.rows, Comparison(0, 0)).lines()
    # From the verdict's text, take the smallest differing window, between counts and totals.
    return [f"rows: lost {lost}, differing {differing}", *shown[2:-1]]


def _duplicated(rows: Comparison) -> list[str]:
    twice = [difference for difference in rows.differences if difference.duplicated]
    if not twice:
        return []
    first = min(twice, key=lambda difference: difference.found)
    lines = [f"  {line}" for line in first.found]
    return [f"rows: duplicated {rows.totals[1]}", f"one identity, {len(lines)} times", *lines]


def _dead_letters(verdict: Verdict) -> list[str]:
    lost, duplicated, differing = verdict.dead.totals
    if not verdict.dead.differences:
        return []
    shown = Verdict("", (), Comparison(0, 0), verdict.dead).lines()
    title = f"dead letters: lost {lost}, duplicated {duplicated}, differing {differing}"
    return [title, *shown[2:-1]]


def _repeats(history: SimulationHistory) -> Iterator[str]:
    for batch, (first, *others) in sorted(history.attempts.items()):
        for number, other in enumerate(others, 2):
            if other != first:
                yield f"attempt {number} at batch {batch} came to something else than the first"
                yield from (f"  first only {line}" for line in sorted(first - other)[:2])
                yield from (f"  then only  {line}" for line in sorted(other - first)[:2])
                return


def _progress(history: SimulationHistory, outcomes: Mapping[int, Outcome]) -> Iterator[str]:
    latest: dict[str, float] = {}
    for number, batch in sorted(history.batches.items()):
        for metric in batch.metrics:
            said = math.inf if metric.ended else _number(metric.progress_us)
            before = latest.get(metric.lane, -math.inf)
            if said < before:
                yield f"lane {metric.lane} went back from {before} to {said} in batch {number}"
                return
            fact = math.inf if said == math.inf else said
            if number in outcomes:
                if metric.lane not in outcomes[number].progress:
                    yield f"batch {number} counts {metric.lane}, which is no lane of the log"
                    return
                fact = _fact(outcomes[number].progress[metric.lane])
            if said != fact:
                yield f"lane {metric.lane} stood at {fact} after batch {number}, and said {said}"
                return
            latest[metric.lane] = said


def _number(progress: float | None) -> float:
    return -math.inf if progress is None else progress


def _fact(progress: float | None) -> float:
    """Return the progress that the engine should report; below the 64-bit minimum it is unset."""
    return -math.inf if progress is None or progress <= INT64_MIN else progress


def clean(outcome: Outcome) -> Batch:
    """Return the final content that a sink should have, as lines; for hand-written histories."""
    return Batch(
        rows=[(row_identity(row), row_line(row)) for row in outcome.rows],
        dead=[(dead_letter_identity(dead), dead_letter_line(dead)) for dead in outcome.dead],
    )
