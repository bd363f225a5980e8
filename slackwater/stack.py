"""Commands over the local stack: up, down, status, demo."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from slackwater.console import FAILED, PASSED, err, plain, report, show, tell
from slackwater.ending import when_interrupted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from infra.endpoints import Endpoints
    from jobs.runs import Run


class Which(StrEnum):
    """The stacks, as `infra.stack.STACKS` has them, which takes a second to import."""

    standalone = "standalone"
    yarn = "yarn"


WhichStack = Annotated[
    Which,
    typer.Option("--stack", help="yarn: HDFS and YARN in place of Spark's own master."),
]


def up(
    only: Annotated[
        list[str] | None,
        typer.Argument(help="kafka, spark, airflow, yarn; default: all of the stack."),
    ] = None,
    which: WhichStack = Which.standalone,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", help="Where workers get other settings: stop their jobs, and resume them."
        ),
    ] = False,
) -> None:
    """Start Kafka, Spark and Airflow on this machine, each on the loopback address.

    What runs as it should is left alone. If workers with jobs are to get other settings, nothing is
    started, unless `--yes` is given.

    Spark and Airflow require a secret. Kafka does not: anyone with an account on this machine can
    read and write its topics; `--kafka FILE` uses your own cluster instead.
    """
    from infra import stack

    if unknown := [name for name in only or () if name not in stack.PARTS]:
        msg = f"{unknown[0]!r} is not a part of the stack: name some of {', '.join(stack.PARTS)}"
        raise typer.BadParameter(msg)
    with when_interrupted(lambda: tell("what has started goes on: `slackwater down` ends it")):
        parts = only or stack.STACKS[which]
        if not yes:
            _tell_addresses(stack.up(report, only=parts))
            return
        stopped: list[Run] = []
        try:
            endpoints = stack.up(report, only=parts, may_end=partial(_stop_first, stopped))
            _resume(stopped)
        finally:
            for run in stopped:
                tell(f"stopped: `slackwater start {run.given or run.file} --run {run.run}`")
        _tell_addresses(endpoints)


def _stop_first(stopped: list[Run], endpoints: Endpoints, jobs: Sequence[str] | None) -> None:
    """Stop the runs among the jobs of a cluster, so that they can be resumed."""
    from jobs import runs
    from jobs.runs.folder import find_named
    from jobs.runs.job_order import pipeline_and_run

    for job in jobs or ():
        ours = pipeline_and_run(job)
        if ours is None:
            tell(f"{job!r} is not a run of a pipeline, and ends with its worker")
            continue
        run = find_named(endpoints, *ours)
        runs.stop_run(endpoints, run)
        stopped.append(run)
        tell(f"stopped run {run.run} of {run.pipeline}")


def _resume(stopped: list[Run]) -> None:
    """Resume runs, and take them off the list: live ones before those beside them."""
    from infra import stack
    from jobs import runs

    if not stopped:
        return
    endpoints = stack.endpoints(only=("kafka", "spark"))
    for run in sorted(stopped, key=lambda run: run.options.beside):
        runs.start(endpoints, run)
        stopped.remove(run)
        tell(f"resumed run {run.run} of {run.pipeline}")


def _tell_addresses(endpoints: Endpoints) -> None:
    from infra import outside
    from infra.redacted import shown

    tell(f"Kafka   {outside.kafka(endpoints) or '-'}")
    tell(f"Spark   {outside.spark_ui(endpoints) or '-'}")
    if endpoints.yarn_ui:
        tell(f"YARN    {shown(endpoints.yarn_ui)}")
        tell(f"HDFS    {shown(endpoints.hdfs)}")
    tell(f"Airflow {outside.airflow_url(endpoints) or '-'}")
    if endpoints.airflow_url:
        tell(f"login   {outside.login(endpoints)}")


def down() -> None:
    """Stop everything that `up` started, and its children; data stays."""
    from infra import stack

    stopped = stack.down(report)
    tell(f"{stopped} processes stopped")


def status() -> None:
    """Show every part of the local stack: state, pid, memory, uptime; and the addresses."""
    from infra import stack

    found = stack.status()
    table = Table("part", "state", "pid", "memory", "runs for", "log")
    for one in found:
        colour = {"healthy": "green", "starting": "yellow", "stopped": "dim"}.get(one.state, "red")
        memory = f"{one.memory_bytes / 2**20:.0f} MiB" if one.memory_bytes else ""
        runs = f"{one.uptime_s / 60:.0f} min" if one.pid else ""
        pid, state = str(one.pid or ""), Text(one.state, colour)
        table.add_row(plain(one.name), state, pid, memory, runs, plain(str(one.log)))
    show(table)
    for one in found:
        if one.detail:
            tell(f"{one.name}: {one.detail}")
    _tell_addresses(stack.endpoints(only=(), check=False))
    unwell = any(one.state in ("unwell", "dead") for one in found)
    raise typer.Exit(FAILED if unwell else PASSED)


def demo(
    max_offsets: Annotated[
        int,
        typer.Option(min=1000, help="Throttle, so that the job lives long enough to be broken."),
    ] = 40_000,
    which: WhichStack = Which.standalone,
) -> None:
    """Start the stack, deploy the flights, break the job twice, and prove the result."""
    from slackwater.demo import Demo

    left = "the stack and the demo's job go on: `slackwater down` ends them"
    with when_interrupted(lambda: tell(left)):
        verdict = Demo(max_offsets, err(), which).run()
    raise typer.Exit(verdict)


COMMANDS = (up, down, status, demo)
