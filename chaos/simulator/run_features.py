"""Features of a case's log, of how it is run, and of what befalls the run."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.simulator.case import Case, PlannedBatch
from windowing.engine.tuning import Tuning
from windowing.model.file.pipeline import Pipeline

Feature = tuple[str, str]
"""The subject of a feature, and its value."""

LONG_RECORDS, LONG_BATCHES = 100, 24


def of_log(case: Case) -> Iterator[Feature]:
    """Yield what lanes have besides good records."""
    for lane in case.lanes:
        for event in lane:
            control = event.get("control")
            if not isinstance(control, dict):
                continue
            if "bound" in control:
                yield "control", "bound on" if "on" in control else "bound"
            yield from (("control", name) for name in ("now", "seen", "end") if name in control)
    if any("raw" in event for lane in case.lanes for event in lane):
        yield "log", "bad values"


def of_run(case: Case, pipeline: Pipeline) -> Iterator[Feature]:
    """Yield how a pipeline is run."""
    tuning = Tuning(**case.tuning)
    there = {
        "several shards": pipeline.shards > 1,
        "several queries": len(pipeline.flows) > 1,
        "compaction at once": tuning.compact_after_deltas <= 1,
        "compaction later": tuning.compact_after_deltas > 1,
        "rows through the sinks' code": case.tables,
        "redelivery is an error": case.strict,
        "fused where it applies": case.fused,
        "slices shared where possible": tuning.share_from_queries <= len(pipeline.windows),
        "hundreds of records": case.records >= LONG_RECORDS and len(case.plan) >= LONG_BATCHES,
    }
    yield from (("run", name) for name, is_there in there.items() if is_there)


def of_faults(case: Case) -> Iterator[Feature]:
    """Yield what befalls the run."""
    for step in case.plan:
        yield from (("fault", failure.kind) for failure in step.failures)
        yield from (("fault", name) for name in _befalls(step))


def _befalls(step: PlannedBatch) -> Iterator[str]:
    there = {
        "chunks cut": step.pieces > 1,
        "chunk twice": step.twice > 0,
        "records again": step.rewind > 0,
        "other workers": step.workers > 0,
        "tasks moved": step.move > 0,
        "commit lost": step.lose_commit,
        "state damaged": step.damage is not None,
        "driver plans first": step.rival == "plans first",
        "driver on the same batch": step.rival == "same batch",
        "old checkpoint": step.restore > 0,
        "table lost": step.lose_table is not None,
        "other shards": step.shards > 0,
    }
    return (name for name, is_there in there.items() if is_there)
