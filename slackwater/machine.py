"""Commands over the machine: check its requirements, and install those of the stack."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from slackwater.console import FAILED, PASSED, say


def register(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (doctor, setup):
        app.command()(command)


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """Say what this machine lacks to run the local stack: Java, jars, Airflow, memory, ports."""
    from infra.doctor import examine

    findings = examine()
    for one in findings:
        say(json.dumps(asdict(one)) if as_json else f"{_MARK[one.verdict]} {one.sentence}")
    raise typer.Exit(FAILED if any(one.verdict == "missing" for one in findings) else PASSED)


_MARK = {"ok": "ok     ", "note": "note   ", "missing": "MISSING"}


def setup() -> None:
    """Install what the local stack needs besides Python packages: Airflow, Kafka, Spark's jars."""
    from infra import setup as machine

    raise typer.Exit(machine.run(only=("uv", "jvm", "airflow")))
