"""What the cluster calls the job of a run: its driver and its application alike."""

from __future__ import annotations

_OURS = "slackwater"


def job_name(pipeline: str, run: str) -> str:
    """The name of a run's job; names of pipelines and of runs have no colon."""
    return f"{_OURS}:{pipeline}:{run}"


def run_of_job(job: str, pipeline: str) -> str | None:
    """The run of a pipeline whose job has this name; None: it is the job of something else."""
    return found[1] if (found := pipeline_and_run(job)) and found[0] == pipeline else None


def pipeline_and_run(job: str) -> tuple[str, str] | None:
    """Pipeline and run of a job; None: it is none of ours."""
    match job.split(":"):
        case [ours, pipeline, run] if ours == _OURS:
            return pipeline, run
    return None
