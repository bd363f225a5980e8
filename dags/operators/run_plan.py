"""Steps of the nightly DAG: each runs one chaos plan."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Context

from dags.operators.run_chosen import RunChosen


class RunPlan(RunChosen):
    """Calls `slackwater chaos run` for one plan, unless the DAG run's parameter chooses another.

    The seed is the parameter `seed`, else the date: a new one every night, the same for every task
    and retry of a DAG run.

    Args:
        plan: the plan's file.
        report: the folder of its report.
    """

    def __init__(self, *, plan: str, report: str, **kwargs: Any) -> None:
        super().__init__(arguments=("chaos", "run", plan), **kwargs)
        self.report = report

    def carried_out(self, context: Context, *more: str) -> dict[str, Any] | None:
        """Run the plan; return its result."""
        seed = str(context["params"].get("seed") or f"{context['dag_run'].run_after:%Y%m%d}")
        return super().carried_out(context, "--seed", seed, "--report", self.report, *more)
