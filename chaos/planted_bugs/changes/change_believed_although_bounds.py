"""A lane that takes changes of the queries although its source believes bounds alone.

Defect: `source.control: bounds` is read as `all`.
How one gets it: a rule with three values is kept as a flag with two.
Expected: dead letters are missing, and queries that nobody asked for have rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import Misreading, with_gate
from windowing.model.file.allowed import names_too_much
from windowing.model.file.pipeline import Pipeline


class Credulous(Misreading):
    """Lets changes in."""

    said = "bounds"
    read = "all"


def whatever_it_names(
    pipeline: Pipeline, lane: str, offset: int, added: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Ask whoever believes everything."""
    if pipeline.source.control.believe == "bounds":
        return False
    return names_too_much(pipeline, lane, offset, added)


BUG = planted_bug(
    with_gate(
        "change_believed_although_bounds",
        Credulous,
        {"windowing.model.file.changes:names_too_much": whatever_it_names},
    ),
    *("dead letters", "deterministic", "conservation", "no error"),
)
