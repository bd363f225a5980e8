"""One simulated run: a case through the engine under test, and the checks over it."""

from __future__ import annotations

import json
import random
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeVar

import msgspec
import polars as pl

from chaos.simulator.case import Case, SimulatedRecord, record
from chaos.simulator.draw import draw_log, draw_pipeline, draw_plan, draw_tuning
from chaos.simulator.draw.joining import with_joining
from chaos.simulator.draw.wish import Wish
from chaos.simulator.features import pairs_of
from chaos.simulator.history import SimulationHistory
from chaos.simulator.platform.changed_log import with_change
from chaos.simulator.platform.hostile import with_hostile
from chaos.simulator.platform.job import SimulatedJob
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.tasks import OWN
from chaos.simulator.verdict.checks import Finding, judge
from windowing.engine.effects import Mechanism, counted
from windowing.engine.tuning import tuned
from windowing.model.file.pipeline import Pipeline, parse_pipeline

Found = TypeVar("Found")
_CALL: Final = pl.LazyFrame({"call": [0]})

_TRIES = 400
_CHANGES = 0.25
"""How often logs change the queries, where they can."""

_RETUNED = 0.3
"""How often workers have other thresholds after a restart."""

_SHARED = 0.9
"""How often as few as two queries share slices, where they can."""

_AT_ONCE = 0.6
"""How often the rows of queries that share slices are made together, where that is possible."""

_SMALL_RESULTS = 0.7
"""How often results of a few rows are large enough for executors to write them."""

_DISK = 0.33
"""How often rows go to tables on a disk."""

_JOINS = 0.85
"""How often a lane that is said to have joined does so between two batches."""

_HOSTILE = 0.25
"""How often somebody hostile writes to the log."""


@dataclass(frozen=True)
class RunResult:
    """The result of a run.

    Attributes:
        findings: the checks that failed; empty if it passed.
        faults: how often each kind of fault took effect, and each refusal of a control record.
        pairs: the pairs of features that met in it, by number.
        mechanisms: those of the engine that rows have come through.
    """

    case: Case
    findings: tuple[Finding, ...]
    faults: Counter[str]
    pairs: frozenset[int] = frozenset()
    mechanisms: frozenset[Mechanism] = frozenset()


def draw_case(seed: int, number: int, parts: EngineParts, pipeline_text: str | None = None) -> Case:
    """Draw a case.

    Args:
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
        # A bug that forgets what was read must be found by its rows, not by this error.
        strict=(parts.name == OWN or parts.strict) and rng.random() < 0.25,
        tables=rng.random() < 0.5,
        # Defects of lanes do not show where there are none.
        fused=parts.fused or (parts.name == OWN and rng.random() < 0.88),
    )
    # Drawn apart, so that all else is as without it.
    case = _tuned(random.Random(f"{label}:tuning"), case, parts)
    own = random.Random(f"{label}:platform")
    case = msgspec.structs.replace(
        case,
        copies=own.choice(["none", "whole", "damaged"]),
        disk=parts.disk or (parts.name == OWN and own.random() < _DISK),
    )
    own = random.Random(f"{label}:changes")
    if parts.changes or (parts.name == OWN and own.random() < _CHANGES):
        with tuned(**case.tuning):
            case = with_change(own, case, _pipeline(text))
    own = random.Random(f"{label}:hostile")
    if parts.hostile or (parts.name == OWN and own.random() < _HOSTILE):
        case = with_hostile(own, case, _pipeline(case.pipeline))
    own = random.Random(f"{label}:joins")
    if parts.joins or (parts.name == OWN and own.random() < _JOINS):
        case = with_joining(own, case, _pipeline(case.pipeline))
    return case


def _tuned(rng: random.Random, case: Case, parts: EngineParts) -> Case:
    """Return a case with thresholds; of bugs, only some show where queries share slices."""
    tuning, again = draw_tuning(rng), rng.random() < _RETUNED
    if parts.name != OWN:
        tuning.pop("share_from_queries", None)
    if parts.shared or (parts.name == OWN and rng.random() < _SHARED):
        tuning["share_from_queries"] = 2
        if rng.random() < _AT_ONCE:
            tuning["members_at_once_from"] = 1
            for name in ("due_cells_free", "due_windows_max"):
                tuning.pop(name, None)
    if (small := rng.random()) < _SMALL_RESULTS:
        tuning["inline_result_bytes"] = 0 if small < _SMALL_RESULTS / 2 else rng.randint(1, 4000)
    tuning.update(parts.tuning)
    retuned = draw_tuning(rng, of_run=False) | {**parts.tuning} if again else {}
    return msgspec.structs.replace(case, tuning=tuning, retuned=retuned)


_USUAL: Final = Wish(tables=0.25)


def _drawn(rng: random.Random, parts: EngineParts) -> str:
    """Draw a pipeline in which the engine's bug can show; after many tries, any pipeline."""
    for _ in range(_TRIES):
        text = draw_pipeline(rng, parts.wish or _USUAL)
        if parts.shows_in(_pipeline(text)):
            break
    return text


def run_case(case: Case, parts: EngineParts) -> RunResult:
    """Run a case, and check its history."""
    return inline(lambda: _run_case(case, parts))


def _run_case(case: Case, parts: EngineParts) -> RunResult:
    pipeline = _pipeline(case.pipeline)
    lanes = [[record(event) for event in lane] for lane in case.lanes]
    with counted() as mechanisms:
        history = history_of(case, parts)
    findings = judge(pipeline, lanes, history)
    faults = history.faults + _refused(lanes, history)
    pairs = pairs_of(case, pipeline)
    return RunResult(case, tuple(findings), faults, pairs, frozenset(mechanisms))


def inline(call: Callable[[], Found]) -> Found:
    """Call a function that makes thousands of small frames, and return what it returns.

    From any other thread, `filter` and `group_by` hand each frame to polars' pool and wait for it:
    125 microseconds and two switches between threads, and 30 from within. A simulated run is a
    fourth faster. Python handles signals after the call.
    """
    found: list[Found] = []
    raised: list[BaseException] = []

    def called(frame: pl.DataFrame) -> pl.DataFrame:
        try:
            found.append(context.run(call))
        except BaseException as error:
            raised.append(error)
        return frame

    context = copy_context()
    _CALL.map_batches(called, schema={"call": pl.Int64}).collect()
    if raised:
        raise raised[0]
    return found[0]


def history_of(case: Case, parts: EngineParts) -> SimulationHistory:
    """Run a case, up to an error if there is one."""
    lanes = [[record(event) for event in lane] for lane in case.lanes]
    with tuned(**case.tuning):
        return _run(parts.job(_pipeline(case.pipeline), lanes, parts, case), case)


def _run(job: SimulatedJob, case: Case) -> SimulationHistory:
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
    finally:
        job.close()
    return job.history


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
