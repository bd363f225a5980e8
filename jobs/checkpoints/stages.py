"""Whether a run's lanes have their own stage on Spark. A checkpoint belongs to one of both."""

from __future__ import annotations

import json
from pathlib import Path

from jobs.runs.folder import write_whole
from windowing.engine.plan import plan_of
from windowing.model import Pipeline

STAGES_FILE = "stages.json"
"""In the run's folder, beside the checkpoint."""


def decide_fused(checkpoint: Path, pipeline: Pipeline) -> bool:
    """Return whether a run is fused: a new one if its plan allows it, noted for the run's life."""
    if not (checkpoint.parent / STAGES_FILE).exists():
        note_fused(checkpoint, fused=plan_of(pipeline).why_lanes is None)
    return is_fused(checkpoint)


def note_fused(checkpoint: Path, *, fused: bool) -> None:
    """Note whether the run of a checkpoint, which may not exist yet, is fused."""
    write_whole(checkpoint.parent / STAGES_FILE, {"fused": fused})


def is_fused(checkpoint: Path) -> bool:
    """Return whether the run of a checkpoint is fused.

    Raises:
        FileNotFoundError: it has not begun.
    """
    return bool(json.loads((checkpoint.parent / STAGES_FILE).read_text(encoding="utf-8"))["fused"])
