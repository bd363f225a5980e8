"""What a production run wrote, over the part of it that a range of the log decides.

A range decides a window if the definition gives it the same revisions with the records before the
range and without: nothing that came earlier is in it, and nothing that came earlier has made one of
its records late. Which windows these are is thus a fact of log and definition, not of any run.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from chaos.readers.log import LogRecord, behind
from chaos.readers.output import Identity, Output, dead_letter_identity, row_identity
from chaos.verdict.verify import Comparison, compare
from windowing.model.file.pipeline import Pipeline
from windowing.model.rows import dead_letter_line, row_line
from windowing.semantics import evaluate

Offsets = Mapping[int, int]
Line = tuple[Identity, str]
Window = tuple[str, ...]
"""The start of a row's identity: query, window id, key."""


@dataclass(frozen=True)
class ProductionRun:
    """A production run beside the range.

    Attributes:
        run: its name.
        windows: how many windows the range decides.
        rows: of those windows, as written and as defined.
        dead: the same of the range's dead letters.
    """

    run: str
    windows: int
    rows: Comparison
    dead: Comparison

    @property
    def ok(self) -> bool:
        """The run wrote what the range decides."""
        return not (self.rows.differences or self.dead.differences)

    def __str__(self) -> str:
        totals = zip(self.rows.totals, self.dead.totals, strict=True)
        lost, twice, differing = (rows + dead for rows, dead in totals)
        return (
            f"run {self.run}: {self.windows} windows with {self.rows.expected} rows, and "
            f"{self.dead.expected} dead letters, are decided by the range: "
            f"lost {lost}, duplicated {twice}, differing {differing}"
        )


def against_production(
    pipeline: Pipeline,
    log: Sequence[LogRecord],
    begins: Offsets,
    ends: Offsets,
    *,
    run: str,
    written: Output,
) -> ProductionRun:
    """Compare what a run wrote with what the range decides.

    Args:
        pipeline: the run's.
        log: from each partition's beginning to the end of the range, at least.
        begins: per partition, the first offset of the range.
        ends: per partition, the first offset behind the range, or the end of what the run has
            committed, whichever comes first.
        run: the run's name.
        written: what it wrote; it may have gone on behind the range.
    """
    known = [record for record in log if record.offset < ends.get(record.partition, 0)]
    ranged = [record for record in known if record.offset >= begins.get(record.partition, 0)]
    whole, part = evaluate(pipeline, known), evaluate(pipeline, ranged)
    decided = _decided(
        [(row_identity(row), row_line(row)) for row in whole.rows],
        [(row_identity(row), row_line(row)) for row in part.rows],
    )
    expected = [line for lines in decided.values() for line in lines]
    last = {window: max(map(_revision, lines)) for window, lines in decided.items()}
    found = [
        line
        for line in written.rows
        if (window := _window(line)) in last and _revision(line) <= last[window]
    ]
    letters = [(dead_letter_identity(letter), dead_letter_line(letter)) for letter in part.dead]
    same = {(dead_letter_identity(letter), dead_letter_line(letter)) for letter in whole.dead}
    letters = [line for line in letters if line in same]
    places = {identity for identity, _ in letters}
    dead = [line for line in written.dead if line[0] in places]
    return ProductionRun(run, len(decided), compare(expected, found), compare(letters, dead))


def same_windows(
    pipeline: Pipeline, log: Sequence[LogRecord], first: Offsets, begins: Offsets
) -> set[Window]:
    """The windows that are the same wherever of two places in the log a run begins.

    Args:
        pipeline: the run's.
        log: from each partition's beginning, up to where both are compared.
        first: by lane, where the one begins; what is not named, at its beginning.
        begins: the same of the other.
    """
    parts = (evaluate(pipeline, behind(pipeline.source, log, at)) for at in (first, begins))
    one, other = ([(row_identity(row), row_line(row)) for row in part.rows] for part in parts)
    return set(_decided(one, other))


def _decided(whole: Iterable[Line], part: Iterable[Line]) -> dict[Window, list[Line]]:
    """The windows that have the same revisions in both."""
    one, other = _by_window(whole), _by_window(part)
    return {window: lines for window, lines in other.items() if one.get(window) == lines}


def _by_window(lines: Iterable[Line]) -> dict[Window, list[Line]]:
    found: dict[Window, list[Line]] = defaultdict(list)
    for line in lines:
        found[_window(line)].append(line)
    return {window: sorted(rows) for window, rows in found.items()}


def _window(line: Line) -> Window:
    return line[0][:3]


def _revision(line: Line) -> float:
    """The number of a revision; no number at all is none, and looked at."""
    revision = json.loads(line[0][4])
    return revision if isinstance(revision, int | float) else 0
