"""Where the rows of a new run go: the sink's tables, or a further version of them.

Tables grow with a pipeline. Where they cannot, since a column has another type or a key other
fields, the run gets tables of its own, `NAME_v2`, and says so in its own copy of the file: all that
reads a run's output goes by that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import yaml

from windowing.model import Pipeline, parse_pipeline

_VERSION = re.compile(r"(.+)_v(\d+)")

Clashes = Callable[[str], list[str]]
"""Why the tables of this name cannot take the rows, each in a clause; none: they can."""


@dataclass(frozen=True)
class Placement:
    """Where rows go.

    Attributes:
        name: of the folder or schema.
        clashes: by name, why those before it could not take them.
    """

    name: str
    clashes: Mapping[str, list[str]]

    def sentences(self) -> list[str]:
        """What is said of it; nothing, where the tables are those that the file names."""
        told = [f"{name} cannot take its rows: {'; '.join(c)}" for name, c in self.clashes.items()]
        return [*told, f"its rows go to {self.name}"] if told else []


def place(pipeline: Pipeline, clashes: Clashes) -> Placement:
    """Find the first version of a sink's tables that can take the rows of a pipeline.

    Args:
        pipeline: that is to run.
        clashes: looks at tables; of those that are not there, it knows none.
    """
    base, passed, number = pipeline.output, dict[str, list[str]](), 1
    while found := clashes(name := _version(base, number)):
        passed[name] = found
        number += 1
    return Placement(name, passed)


def _version(base: str, number: int) -> str:
    return base if number == 1 else f"{base}_v{number}"


def is_version_of(old: Pipeline, new: Pipeline) -> bool:
    """Whether the place of a run's rows is the one that a file names, or a version of it."""
    if old.destination.kind != new.destination.kind:
        return False
    found = _VERSION.fullmatch(old.output)
    return old.output == new.output or (found is not None and found[1] == new.output)


def with_place(pipeline: Pipeline, name: str, *, like: Pipeline | None = None) -> Pipeline:
    """The pipeline as it is, with its rows in a folder or schema of this name.

    Args:
        pipeline: as the user has it.
        name: of the folder or schema.
        like: whose kind of sink it has; None: its own.

    Raises:
        PipelineError: no folder or schema can have the name, as one that is too long.
    """
    kind = (like or pipeline).destination.kind
    if name == pipeline.output and pipeline.destination.kind == kind:
        return pipeline
    document = {**yaml.safe_load(pipeline.text), "sink": {kind: name}}
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    return parse_pipeline(text, f"{pipeline.name} with its rows in {name}")
