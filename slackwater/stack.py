"""Commands over the local stack: up, down, status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from slackwater.console import FAILED, PASSED, err

if TYPE_CHECKING:
    from infra.endpoints import Endpoints


def register(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (up, down, status):
        app.command()(command)


def report(component: str, message: str, seconds: float) -> None:
    """Print one piece of news of a start or a stop."""
    err.print(f"  {seconds:6.1f} s  [cyan]{component:<8}[/] {message}")


def up(
    only: Annotated[
        list[str] | None, typer.Argument(help="kafka, spark, airflow; by default all three.")
    ] = None,
) -> None:
    """Start Kafka, Spark and Airflow on this machine, each on the loopback address.

    Spark and Airflow want a secret of yours. Kafka wants none: whoever has an account on this
    machine can read and write its topics; with `--kafka FILE` a cluster of yours is used instead.
    """
    from infra import stack

    _tell(stack.up(report, only=only or tuple(stack.PARTS)))


def _tell(endpoints: Endpoints) -> None:
    """Print where the stack answers."""
    from infra import airflow

    err.print(f"Kafka   {endpoints.kafka_bootstrap or '-'}")
    err.print(f"Spark   {endpoints.spark_ui or '-'}")
    err.print(f"Airflow {endpoints.airflow_url or '-'}")
    if endpoints.airflow_url:
        err.print(f"login   {airflow.login(endpoints)}", soft_wrap=True)


def down() -> None:
    """Stop all that `up` started, and what it started in turn; data stays."""
    from infra import stack

    stopped = stack.down(report)
    err.print(f"{stopped} processes stopped")


def status() -> None:
    """Show every part of the local stack: state, pid, memory, since when; and the addresses."""
    from infra import stack

    found = stack.status()
    table = Table("part", "state", "pid", "memory", "runs for", "log")
    for one in found:
        colour = {"healthy": "green", "stopped": "dim"}.get(one.state, "red")
        memory = f"{one.memory_bytes / 2**20:.0f} MiB" if one.memory_bytes else ""
        runs = f"{one.uptime_s / 60:.0f} min" if one.pid else ""
        pid, state = str(one.pid or ""), f"[{colour}]{one.state}[/]"
        table.add_row(one.name, state, pid, memory, runs, str(one.log))
    err.print(table)
    for one in found:
        if one.detail:
            err.print(f"{one.name}: {one.detail}")
    _tell(stack.endpoints(only=(), check=False))
    unwell = any(one.state in ("unwell", "dead") for one in found)
    raise typer.Exit(FAILED if unwell else PASSED)
