"""Which stages a run has: lanes and shards, or fused; a checkpoint belongs to one of both."""

from __future__ import annotations

import json
from pathlib import Path

from jobs.checkpoints.mend import newest
from jobs.runs.folder import write_whole
from windowing.engine.plan import plan_of
from windowing.model import Pipeline

STAGES_FILE = "stages.json"
"""In the run's folder, beside the checkpoint."""


def decide(checkpoint: Path, pipeline: Pipeline) -> bool:
    """Return whether a run is fused, and record it for the run's life.

    Args:
        checkpoint: the run's; may not exist yet.
        pipeline: a new run is fused if its plan allows it.
    """
    file = checkpoint.parent / STAGES_FILE
    if not file.exists():
        begun = newest(checkpoint / "offsets") >= 0
        fused = is_fused(checkpoint) if begun else plan_of(pipeline).why_lanes is None
        write_whole(file, {"fused": fused})
    return is_fused(checkpoint)


def is_fused(checkpoint: Path) -> bool:
    """Return whether the run of a checkpoint is fused.

    Without a record, as in runs of earlier versions, the number of stateful steps decides.
    """
    file = checkpoint.parent / STAGES_FILE
    if file.exists():
        return bool(json.loads(file.read_text(encoding="utf-8"))["fused"])
    steps = checkpoint / "state"
    return (steps / "0").exists() and not (steps / "1").exists()
