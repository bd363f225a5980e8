"""The place for the rows of a new run: the sink's tables, or another version of them.

Tables grow with a pipeline. If they cannot, because a column's type or the key's fields differ, the
run gets its own tables, `NAME_v2`, and records them in its own copy of the file, which every reader
of a run's output uses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from windowing.model import Pipeline, parse_pipeline
from windowing.model.file.yaml_lines import load, spell

_VERSION = re.compile(r"(.+)_v(\d+)")

Clashes = Callable[[str], list[str]]
"""Return why the tables of this name cannot hold the rows, a clause each; empty: they can."""


@dataclass(frozen=True)
class Placement:
    """A place for rows.

    Attributes:
        name: name of the folder or schema.
        clashes: by name, why earlier versions cannot hold the rows.
    """

    name: str
    clashes: Mapping[str, list[str]]

    def sentences(self) -> list[str]:
        """Describe the place; no sentences if the tables are those that the file names."""
        lines = [f"{name} cannot take its rows: {'; '.join(c)}" for name, c in self.clashes.items()]
        return [*lines, f"its rows go to {self.name}"] if lines else []


def place(pipeline: Pipeline, clashes: Clashes) -> Placement:
    """Find the first version of a sink's tables that can hold the rows of a pipeline.

    Args:
        clashes: checks tables; tables that do not exist have no clashes.
    """
    base, passed, number = pipeline.output, dict[str, list[str]](), 1
    while found := clashes(name := _version(base, number)):
        passed[name] = found
        number += 1
    return Placement(name, passed)


def _version(base: str, number: int) -> str:
    return base if number == 1 else f"{base}_v{number}"


def is_version_of(old: Pipeline, new: Pipeline) -> bool:
    """Whether a run's rows are in the place that a file names, or in a version of it."""
    ours, other = old.destination, new.destination
    if (ours.kind, ours.layout) != (other.kind, other.layout):
        return False
    found = _VERSION.fullmatch(old.output)
    return old.output == new.output or (found is not None and found[1] == new.output)


def with_place(pipeline: Pipeline, name: str, *, like: Pipeline | None = None) -> Pipeline:
    """Return the pipeline unchanged, except that its rows go to this folder or schema.

    Args:
        name: name of the folder or schema.
        like: the pipeline whose kind of sink and layout to use; None: its own.

    Raises:
        PipelineError: no folder or schema can have the name, for example because it is too long.
    """
    wanted = replace((like or pipeline).destination, name=name)
    if wanted == pipeline.destination:
        return pipeline
    document = {**load(pipeline.text), "sink": wanted.section}
    text = spell(document, width=100)
    return parse_pipeline(text, f"{pipeline.name} with its rows in {name}")
