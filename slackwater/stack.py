"""Commands over the local stack: up, down, status, demo."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from slackwater.console import FAILED, PASSED, err, plain, report, show, tell
from slackwater.ending import when_interrupted

if TYPE_CHECKING:
    from infra.endpoints import Endpoints


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
) -> None:
    """Start Kafka, Spark and Airflow on this machine, each on the loopback address.

    Spark and Airflow require a secret. Kafka does not: anyone with an account on this machine can
    read and write its topics; `--kafka FILE` uses your own cluster instead.
    """
    from infra import stack

    if unknown := [name for name in only or () if name not in stack.PARTS]:
        msg = f"{unknown[0]!r} is not a part of the stack: name some of {', '.join(stack.PARTS)}"
        raise typer.BadParameter(msg)
    with when_interrupted(lambda: tell("what has started goes on: `slackwater down` ends it")):
        _tell_addresses(stack.up(report, only=only or stack.STACKS[which]))


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
