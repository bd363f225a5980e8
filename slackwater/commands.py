"""All commands, in groups by what people do; each module is imported when one of its is called for.

To import all of them takes longer than `slackwater validate` does with a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

Command = TyperCommand | TyperGroup

GROUPS: Final[dict[str, dict[str, str]]] = {
    "Write a pipeline": {
        "init": "project",
        "validate": "files",
        "test": "file_tests",
        "explain": "files",
        "capacity": "capacity",
        "check-aggregate": "files",
    },
    "Try it": {
        "run": "files",
        "trace": "disorder",
        "tune": "disorder",
        "punctuate": "disorder",
        "produce": "topics",
        "demo": "stack",
    },
    "Operate it": {
        "doctor": "project",
        "setup": "project",
        "up": "stack",
        "down": "stack",
        "status": "stack",
        "topics": "topics",
        "send": "topics",
        "record": "recording",
        "heartbeat": "heartbeats",
        "submit": "deploy",
        "overview": "overview",
        "runs": "runs",
        "progress": "runs",
        "start": "runs",
        "stop": "runs",
        "state": "runs",
        "handover": "deploy",
        "migrate": "deploy",
        "reshard": "deploy",
        "queries": "queries",
        "tables": "tables",
    },
    "Read its results": {"newest": "results", "why": "why", "dead": "results", "plot": "results"},
    "Prove them": {
        "verify": "verify",
        "replay": "replay",
        "quality": "quality",
        "audit": "audit",
    },
    "Break it": {"chaos": "chaos"},
    "Research": {"conform": "conform", "operators": "conform", "secret": "secret"},
}
"""By the heading in `--help`: each command, and the module that has it, in its `COMMANDS` or, if it
has its own commands, by its name."""

_GROUP_OF: Final = {name: group for group, names in GROUPS.items() for name in names}


class AllCommands(TyperGroup):
    """The commands of `slackwater`, loaded one by one."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast("Any", _Loading())  # nobody adds to them


class _Loading(Mapping[str, Command]):
    def __iter__(self) -> Iterator[str]:
        return iter(_GROUP_OF)

    def __len__(self) -> int:
        return len(_GROUP_OF)

    def __getitem__(self, name: str) -> Command:
        return _load(name, group=_GROUP_OF[name])


@cache
def _load(name: str, group: str) -> Command:
    module = import_module(f"slackwater.{GROUPS[group][name]}")
    alone = typer.Typer()
    if isinstance(commands := getattr(module, name, None), typer.Typer):
        alone.add_typer(commands, name=name, rich_help_panel=group)
    else:
        (function,) = (one for one in module.COMMANDS if one.__name__.replace("_", "-") == name)
        alone.command(name, rich_help_panel=group)(function)
    return cast("Command", get_group(alone).commands[name])
