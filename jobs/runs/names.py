"""The name of a run's job at the cluster, for driver and application alike."""

from __future__ import annotations

_OURS = "slackwater"


def job_name(pipeline: str, run: str) -> str:
    """Return the name of a run's job; names of pipelines and runs have no colon."""
    return f"{_OURS}:{pipeline}:{run}"


def run_of_job(job: str, pipeline: str) -> str | None:
    """Return the pipeline's run whose job has this name; None: it is another program's job."""
    return found[1] if (found := pipeline_and_run(job)) and found[0] == pipeline else None


def pipeline_and_run(job: str) -> tuple[str, str] | None:
    """Return pipeline and run of a job; None: it is not one of ours."""
    match job.split(":"):
        case [ours, pipeline, run] if ours == _OURS:
            return pipeline, run
    return None
