"""`slackwater chaos run` for a batch comparison: Spark's own windows and ours, on one log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slackwater.console import tell

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.batch_comparison.run import CutsReport, Emitted
    from chaos.readers.log import LogRecord
    from windowing.runtime.local import Output


def run_cuts_plan(file: Path) -> CutsReport:
    """Run a batch comparison in a local Spark session.

    Args:
        file: the plan.

    Raises:
        PipelineError: the plan or its pipeline breaks a rule.
        WindowingError: Spark's `window()` cannot express the pipeline.
    """
    from chaos.batch_comparison.plan import load_cuts_plan, pipeline_of
    from chaos.batch_comparison.run import run_cuts
    from jobs import builtin, file_run
    from windowing.engine.reading.batches import batches

    plan = load_cuts_plan(file)
    pipeline = pipeline_of(plan, file)
    with file_run.own_session(f"slackwater {plan.name}") as spark:

        def on(run: Callable[..., Output], log: Sequence[LogRecord], rows: int) -> Emitted:
            output = run(pipeline, batches(log, rows), spark)
            return output.rows, output.dead_letters

        return run_cuts(
            plan,
            pipeline,
            spark=lambda log, rows: on(builtin.run, log, rows),
            ours=lambda log, rows: on(file_run.run, log, rows),
            command=f"slackwater chaos run {file}",
            news=tell,
        )
