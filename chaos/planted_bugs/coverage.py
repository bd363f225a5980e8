"""Which mechanisms of the engine the convictions come through: a table for `chaos/coverage.md`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from chaos.planted_bugs.convictions import conviction
from chaos.planted_bugs.planted import PLANTED_BUGS
from chaos.planted_bugs.search import each
from chaos.simulator.case import read_case
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.run import run_case
from windowing.engine.effects import MECHANISMS, Mechanism

_NAMED_MAX: Final = 12
"""Of mechanisms that most cases come through, names would say nothing."""

_TABLE: Final = re.compile(r"(?<=<!-- convictions -->\n).*(?=<!-- /convictions -->)", re.DOTALL)


@dataclass(frozen=True)
class BugCoverage:
    """What the engine without a bug does in the case that convicts the bug.

    Attributes:
        name: the bug's name.
        mechanisms: those that rows come through; None: there is no case.
    """

    name: str
    mechanisms: frozenset[Mechanism] | None


def reached(
    folder: Path, jobs: int = 1, names: Iterable[str] = PLANTED_BUGS
) -> Iterator[BugCoverage]:
    """Yield what each bug's recorded case comes through; see `convictions.record_all`."""
    yield from each(partial(_reached, folder=folder), names, jobs)


def _reached(name: str, folder: Path) -> BugCoverage:
    file = conviction(folder, name)
    if not file.exists():
        return BugCoverage(name, None)
    return BugCoverage(name, run_case(read_case(file), EngineParts()).mechanisms)


def table(found: Iterable[BugCoverage]) -> list[str]:
    """Return the table as lines of Markdown, with what is found by nights alone."""
    found = list(found)
    by_day = {one.name: one.mechanisms for one in found if one.mechanisms is not None}
    lines = ["| mechanism | planted bugs that `make test` convicts through it | which |"]
    lines.append("|---|---|---|")
    for mechanism in MECHANISMS:
        names = sorted(name for name, through in by_day.items() if mechanism in through)
        named = ", ".join(f"`{name}`" for name in names) if len(names) <= _NAMED_MAX else "many"
        lines.append(f"| {mechanism} | {len(names)} | {named} |")
    others = sorted(f"`{one.name}`" for one in found if one.mechanisms is None)
    searched = "; nights alone search for " + ", ".join(others) if others else ""
    summary = f"Of {len(found)} planted bugs, `make test` convicts {len(by_day)}{searched}."
    return [*lines, "", summary]


def with_table(text: str, lines: Iterable[str]) -> str:
    """Return a page with the table between `<!-- convictions -->` and `<!-- /convictions -->`.

    Raises:
        ValueError: the page has no such place.
    """
    if not _TABLE.search(text):
        msg = "needs lines <!-- convictions --> and <!-- /convictions --> for the table"
        raise ValueError(msg)
    return _TABLE.sub(lambda _: "".join(f"{line}\n" for line in lines), text)
