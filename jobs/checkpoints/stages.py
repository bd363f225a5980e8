"""How a run's stages are laid out on Spark. A checkpoint belongs to one layout."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from jobs.checkpoints.mend import newest
from jobs.runs.folder import write_whole
from windowing.engine.plan import plan_of
from windowing.engine.tuning import tuning
from windowing.model import Pipeline

STAGES_FILE = "stages.json"
"""In the run's folder, beside the checkpoint."""


@dataclass(frozen=True)
class Stages:
    """The layout, as `windowing.spark.plan.emissions` takes it.

    Attributes:
        fused: whether lanes have no stage of their own.
        even: whether lanes and shards are spread evenly over tasks.
        share_from: how many queries share slices at least; None: as in a new run.
    """

    fused: bool
    even: bool
    share_from: int | None = None


def decide(checkpoint: Path, pipeline: Pipeline) -> Stages:
    """Return the layout of a run, and record it for the run's life.

    Args:
        checkpoint: the run's; may not exist yet.
        pipeline: a new run is fused if its plan allows it.
    """
    file = checkpoint.parent / STAGES_FILE
    if not file.exists():
        begun = newest(checkpoint / "offsets") >= 0
        fused = plan_of(pipeline).why_lanes is None
        fresh = Stages(fused=fused, even=True, share_from=tuning().share_from_queries)
        write_whole(file, asdict(stages_of(checkpoint) if begun else fresh))
    return stages_of(checkpoint)


def stages_of(checkpoint: Path) -> Stages:
    """Return the layout of the run of a checkpoint.

    Runs of earlier versions did not record all of it: they are not even, their queries share
    nothing, and without any record the number of stateful steps tells whether they are fused.
    """
    file = checkpoint.parent / STAGES_FILE
    if file.exists():
        said = json.loads(file.read_text(encoding="utf-8"))
        even, share_from = bool(said.get("even", False)), said.get("share_from")
        return Stages(fused=bool(said["fused"]), even=even, share_from=share_from)
    steps = checkpoint / "state"
    return Stages(fused=(steps / "0").exists() and not (steps / "1").exists(), even=False)
