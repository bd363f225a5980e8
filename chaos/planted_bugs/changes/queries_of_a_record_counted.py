"""A lane that counts the queries of a record, and not those that it has added before.

Defect: the limit holds for each change by itself.
How one gets it: the limit is checked where the record is parsed.
Expected: as many queries join as there are records, and their copies are no dead letters.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import believing
from windowing.model.file.allowed import _permits


def beside_none(of: Any) -> Any:
    """Return what is permitted to a lane that has added none."""
    return replace(_permits(of), added={})


BUG = planted_bug(
    believing(
        "queries_of_a_record_counted", {"windowing.model.file.allowed:_permits": beside_none}
    ),
    *("dead letters", "deterministic", "conservation", "no error"),
)
