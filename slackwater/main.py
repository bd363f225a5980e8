"""The command `slackwater`: every subcommand, and what an error looks like."""

from __future__ import annotations

import importlib
import sys

import typer

from slackwater import (
    aggregates,
    chaos,
    chaos_nightly,
    chaos_run,
    cluster,
    conform,
    disorder,
    files,
    operators,
    replay,
    stack,
    state,
)
from slackwater.console import FAILED, USAGE, complain

app = typer.Typer(
    help="Windowed streaming pipelines whose results are a pure function of the log.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (
    files,
    aggregates,
    conform,
    operators,
    disorder,
    stack,
    cluster,
    state,
    replay,
    chaos,
):
    module.register(app)
chaos_run.register(chaos.chaos)
chaos_nightly.register(chaos.chaos)

# Errors that a user can act on, and the exit code that each deserves. By name, so that a command
# imports only the parts that it uses.
_USAGE_ERRORS = (
    "windowing.spec.PipelineError",
    "windowing.errors.BrokenEnvelope",
    "windowing.spec.user_aggregate.UserAggregateError",
    "chaos.log.EnvelopeError",
    "chaos.conform.wid_case.CaseError",
    "jobs.heartbeat.HeartbeatError",
    "jobs.punctuate.PunctuateError",
    "jobs.window_picture.PictureError",
    "windowing.semantics.trace.TraceError",
)
_FAILURES = (
    "windowing.errors.WindowingError",
    "windowing.semantics.log.BadLogError",
    "windowing.semantics.definition.IntSumError",
    "windowing.semantics.landmark.EndlessLandmarkError",
    "windowing.semantics.units.ArrivalOrderError",
    "chaos.log.LogError",
    "chaos.output.OutputError",
    "chaos.replay.run.ReplayError",
    "infra.errors.InfraError",
    "jobs.flights.FlightsError",
    "jobs.partitions.PartitionsError",
    "jobs.plot.PlotError",
    "jobs.runs.RunError",
    "jobs.topics.BrokerError",
    "jobs.topics.TopicError",
    "jobs.tune.TuneError",
    "jobs.tune_windows.UnitError",
    "builtins.OSError",
)


def main() -> None:
    """Run the command line; errors that a user can act on are one sentence, not a stack trace."""
    try:
        app()
    except KeyboardInterrupt:
        complain("interrupted")
        sys.exit(130)
    except Exception as error:
        if _is_one_of(error, _USAGE_ERRORS):
            complain(str(error))
            sys.exit(USAGE)
        if _is_one_of(error, _FAILURES):
            complain(str(error))
            sys.exit(FAILED)
        raise


def _is_one_of(error: Exception, names: tuple[str, ...]) -> bool:
    for name in names:
        module, _, kind = name.rpartition(".")
        if module in sys.modules:
            found = getattr(importlib.import_module(module), kind, None)
            if found is not None and isinstance(error, found):
                return True
    return False


if __name__ == "__main__":
    main()
