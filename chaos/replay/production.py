"""Compare the output of a production run with a range of the log, as far as the range decides it.

A range decides a window if the definition gives it the same revisions with and without the records
before the range: no earlier record is in the window, and none has made one of its records late. So
the decided windows depend on log and definition only, not on any run.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from chaos.readers.log import LogRecord, behind
from chaos.readers.output import Line, Output, dead_letter_identity, row_identity
from chaos.verdict.comparison import Comparison, compare, dead_letter_text
from windowing.model.file.pipeline import Pipeline
from windowing.model.rows import dead_letter_line, row_line
from windowing.semantics import evaluate

Offsets = Mapping[int, int]
Window = tuple[str, ...]
"""The start of a row's identity: query, window id, key."""


@dataclass(frozen=True)
class ProductionRun:
    """The comparison of a production run with a range.

    Attributes:
        windows: number of windows that the range decides.
    """

    run: str
    windows: int
    rows: Comparison
    dead: Comparison

    @property
    def ok(self) -> bool:
        """Whether the run wrote exactly what the range decides."""
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
        log: at least from each partition's beginning to the end of the range.
        begins: first offset of the range, by partition.
        ends: first offset after the range, or after what the run has committed, whichever comes
            first, by partition.
        written: what the run wrote, perhaps beyond the range.
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
    return ProductionRun(
        run, len(decided), compare(expected, found), compare(letters, dead, dead_letter_text)
    )


def same_windows(
    pipeline: Pipeline, log: Sequence[LogRecord], first: Offsets, begins: Offsets
) -> set[Window]:
    """Return the windows that are the same whether a run starts at one place or at another.

    Args:
        log: the log from each partition's beginning up to the point of comparison.
        first: first offset of one run, by lane; default: the lane's beginning.
        begins: first offset of the other run, likewise.
    """
    parts = (evaluate(pipeline, behind(pipeline.source, log, at)) for at in (first, begins))
    one, other = ([(row_identity(row), row_line(row)) for row in part.rows] for part in parts)
    return set(_decided(one, other))


def _decided(whole: Iterable[Line], part: Iterable[Line]) -> dict[Window, list[Line]]:
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
    """Return the number of a revision; 0 if it is not a number, so that it is compared."""
    revision = json.loads(line[0][4])
    return revision if isinstance(revision, int | float) else 0
