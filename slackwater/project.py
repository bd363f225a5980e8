"""Commands for a machine and a new project: init, doctor, setup."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from slackwater.console import FAILED, PASSED, say

TEMPLATE = Path(__file__).resolve().parent / "template"
_HIDDEN = "dot-"  # the template's spelling of names that begin with a dot
_MARK = {"ok": "ok     ", "note": "note   ", "missing": "MISSING"}


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that is new or empty.")],
) -> None:
    """Create a project to work in: a pipeline, events, tests, a chaos plan, a CI file."""
    if folder.exists() and not folder.is_dir():
        msg = f"{folder} is not a folder: name one that is new or empty"
        raise typer.BadParameter(msg)
    if folder.is_dir() and (there := sorted(path.name for path in folder.iterdir())):
        msg = f"{folder} is not empty, it has {there[0]!r}: name a folder that is new or empty"
        raise typer.BadParameter(msg)
    for name in files():
        target = folder / target_of(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(TEMPLATE / name, target)
        say(str(target))
    say(f"next: read {folder / 'README.md'}; commands work in {folder}")


def files() -> list[Path]:
    """List the files of the template, relative to it."""
    found = (path.relative_to(TEMPLATE) for path in TEMPLATE.rglob("*") if path.is_file())
    return sorted(path for path in found if "__pycache__" not in path.parts)


def target_of(name: Path) -> Path:
    """Return the name that a file of the template has in a project."""
    parts = (part.removeprefix(_HIDDEN) for part in name.parts)
    dots = ("." if part.startswith(_HIDDEN) else "" for part in name.parts)
    return Path(*map(str.__add__, dots, parts))


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """Say what this machine lacks to run the local stack: Java, jars, Airflow, memory, ports."""
    from infra.doctor import examine

    findings = examine()
    for one in findings:
        say(json.dumps(asdict(one)) if as_json else f"{_MARK[one.verdict]} {one.sentence}")
    raise typer.Exit(FAILED if any(one.verdict == "missing" for one in findings) else PASSED)


def setup() -> None:
    """Install what the local stack needs besides Python packages: Airflow, Kafka, Spark's jars."""
    from infra import setup as machine

    raise typer.Exit(machine.run(only=("uv", "jvm", "airflow")))


COMMANDS = (init, doctor, setup)
