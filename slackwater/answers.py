"""Machine-readable output of commands: one JSON object, which the DAGs also read.

`tests/dags/stand_in.py` prints the same format; `tests/unit/slackwater/test_answers.py` compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chaos.quality import QualityReport
    from jobs.runs import Progress, Run
    from windowing.model import Pipeline


def submission(run: Run, ui: str | None) -> dict[str, Any]:
    """Describe the result of `submit` or `start`.

    Args:
        ui: the page of its job at the master, or of the master; None: there is none.
    """
    return {**run.facts(), "ui": ui}


def progress(found: Progress, pipeline: Pipeline, ui: str | None) -> dict[str, Any]:
    """Describe the progress of a run.

    Args:
        pipeline: the pipeline, for the names of lanes.
        ui: as in `submission`.
    """
    return {
        "done": found.done,
        "behind": found.behind,
        "state": found.state.upper(),
        "why": found.why,
        "restarts": found.restarts,
        "batches": found.batches,
        "lanes": {pipeline.source.lane(lane): offset for lane, offset in found.committed.items()},
        "error": found.error,
        "log": found.log,
        "ui": ui,
    }


def quality(report: QualityReport, run: str) -> dict[str, Any]:
    """Describe the result of a run's checks."""
    return {
        "run": run,
        "passed": report.success,
        "sentence": report.sentence,
        "rows": report.rows,
        "final_until": dict(report.final_until),
        "data_docs": str(report.docs_index),
        "results": [
            {
                "query": one.query,
                "expectation": one.expectation,
                "success": one.success,
                "detail": one.detail,
                "threshold": one.threshold,
            }
            for one in report.results
        ],
    }
