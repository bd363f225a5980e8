"""One simulated run: a case through the engine under test, and the checks over it."""

from __future__ import annotations

import json
import random
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from chaos.simulator.case import Case, SimulatedRecord, record
from chaos.simulator.draw import draw_log, draw_pipeline, draw_plan
from chaos.simulator.features import pairs_of
from chaos.simulator.history import SimulationHistory
from chaos.simulator.platform.changed_log import with_change
from chaos.simulator.platform.hostile import with_hostile
from chaos.simulator.platform.parts import OWN, EngineParts
from chaos.simulator.verdict.checks import Finding, judge
from windowing.model.file.pipeline import Pipeline, parse_pipeline

_TRIES = 400
_CHANGES = 0.25
"""How often logs change the queries, where they can."""

_HOSTILE = 0.25
"""How often somebody hostile writes to the log."""


@dataclass(frozen=True)
class RunResult:
    """The result of a run.

    Attributes:
        case: the case.
        findings: the checks that failed; empty if it passed.
        faults: how often each kind of fault took effect, and each refusal of a control record.
        pairs: the pairs of features that met in it, by number.
    """

    case: Case
    findings: tuple[Finding, ...]
    faults: Counter[str]
    pairs: frozenset[int] = frozenset()


def draw_case(seed: int, number: int, parts: EngineParts, pipeline_text: str | None = None) -> Case:
    """Draw a case.

    Args:
        seed: seed of all cases.
        number: number of this case; seed and number determine every choice.
        parts: the engine under test, whose name goes into the case.
        pipeline_text: a pipeline file to use; None: a random one.
    """
    label = f"{seed}:{number}"
    rng = random.Random(label)
    text = pipeline_text or _drawn(rng, parts)
    lanes = draw_log(rng, _pipeline(text), parts.wish)
    plan = draw_plan(rng, [len(lane) for lane in lanes])
    case = Case(
        label,
        parts.name,
        text,
        lanes,
        plan,
        compact_after=rng.choice([1, 1, 2, 3, 4, 8]),
        # A bug that forgets what was read must be found by its rows, not by this error.
        strict=(parts.name == OWN or parts.strict) and rng.random() < 0.25,
        tables=rng.random() < 0.4,
        # Defects of lanes do not show where there are none.
        fused=parts.fused or (parts.name == OWN and rng.random() < 0.8),
        shared=parts.shared or (parts.name == OWN and rng.random() < 0.85),
    )
    # Drawn apart, so that all else is as without it.
    own = random.Random(f"{label}:changes")
    if parts.changes or (parts.name == OWN and own.random() < _CHANGES):
        case = with_change(own, case, _pipeline(text))
    own = random.Random(f"{label}:hostile")
    if parts.hostile or (parts.name == OWN and own.random() < _HOSTILE):
        case = with_hostile(own, case, _pipeline(case.pipeline))
    return case


def _drawn(rng: random.Random, parts: EngineParts) -> str:
    """Draw a pipeline in which the engine's bug can show; after many tries, any pipeline."""
    for _ in range(_TRIES):
        text = draw_pipeline(rng, parts.wish)
        if parts.shows_in(_pipeline(text)):
            break
    return text


def run_case(case: Case, parts: EngineParts) -> RunResult:
    """Run a case, and check its history."""
    pipeline = _pipeline(case.pipeline)
    lanes = [[record(event) for event in lane] for lane in case.lanes]
    job = parts.job(pipeline, lanes, parts, case)
    try:
        for step in case.plan:
            job.step(step)
        job.finish()
    except Exception as error:
        job.leave()
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.name}, line {last.lineno} of {last.filename.rpartition('/')[2]}"
        job.history.commits = job.commits
        job.history.error_kind = type(error).__name__
        job.history.error = f"{type(error).__name__}: {error} (in {where})"
    findings = judge(pipeline, lanes, job.history)
    faults = job.history.faults + _refused(lanes, job.history)
    return RunResult(case, tuple(findings), faults, pairs_of(case, pipeline))


def _refused(
    lanes: Sequence[Sequence[SimulatedRecord]], history: SimulationHistory
) -> Counter[str]:
    """Return how many control records the sink has as dead letters, by reason."""
    controls = {
        (one.source, one.partition, one.offset)
        for lane in lanes
        for one in lane
        if one.control is not None
    }
    letters = [json.loads(line) for batch in history.batches.values() for _, line in batch.dead]
    return Counter(
        f"control record {letter['reason']}"
        for letter in letters
        if letter["query"] is None
        and (letter["source"], letter["partition"], letter["offset"]) in controls
    )


@lru_cache(maxsize=64)
def _pipeline(text: str) -> Pipeline:
    return parse_pipeline(text)
