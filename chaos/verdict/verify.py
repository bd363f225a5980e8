"""The verdict on an output: does it equal the definition's result for the log, byte for byte?

There are three questions about both rows and dead letters. Lost: which lines of the definition are
missing? Duplicated: which identities occur more than once? Differing: which have other bytes, or
should not exist? A fourth is about the counts: has every record that an independent reader saw
become exactly one of applied, outside, dropped and dead?
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from chaos.readers.output import Identity, Output, count_dead, dead_letter_identity, row_identity
from windowing.model.file.pipeline import Pipeline
from windowing.model.rows import DeadLetter, dead_letter_line, row_line
from windowing.semantics import Counts, LogEntry, Outcome, RowId, evaluate, held_by

_RECORDS_SHOWN: Final = 20


@dataclass(frozen=True)
class Difference:
    """One identity on which output and definition disagree.

    Attributes:
        expected: the definition's line; None: it has no such row.
        found: the output's lines; empty if lost, several if duplicated.
    """

    expected: str | None
    found: tuple[str, ...]

    @property
    def lost(self) -> bool:
        """Whether the output lacks it."""
        return not self.found

    @property
    def duplicated(self) -> int:
        """Number of surplus occurrences in the output."""
        return max(0, len(self.found) - 1)

    @property
    def differing(self) -> bool:
        """Whether the output has other bytes for it, or should not have it at all."""
        return any(line != self.expected for line in self.found)


@dataclass(frozen=True)
class Comparison:
    """The comparison of lines of one kind.

    Attributes:
        expected: number of lines in the definition's result.
        found: number of lines in the output.
        differences: where they disagree.
    """

    expected: int
    found: int
    differences: tuple[Difference, ...]

    @property
    def totals(self) -> tuple[int, int, int]:
        """(lost, duplicated, differing)."""
        return (
            sum(d.lost for d in self.differences),
            sum(d.duplicated for d in self.differences),
            sum(d.differing for d in self.differences),
        )


@dataclass(frozen=True)
class Conservation:
    """The accounting of one query's records.

    Attributes:
        query: its name.
        read: number of data records that the independent reader saw.
        found: the run's own counts; for files, which have none, the definition's counts, with the
            number of dead letters in the output.
        expected: the definition's counts.
    """

    query: str
    read: int
    found: Counts
    expected: Counts

    @property
    def ok(self) -> bool:
        """Whether every record is accounted for as in the definition."""
        found = self.found
        total = found.applied + found.outside + found.dropped + found.dead
        return self.read == total == found.read and found == self.expected

    def __str__(self) -> str:
        found, expected = self.found, self.expected
        line = f"{self.query}: {_sum_line(self.read, found)}"
        if self.ok:
            return line
        if found.read != self.read:
            line += f"; the run counted {found.read} read"
        return f"{line}; the definition has {_sum_line(expected.read, expected)}"


@dataclass(frozen=True)
class Verdict:
    """The result of comparing an output with the definition.

    Attributes:
        name: the name of the output.
        conservation: the accounting by query, in the order of the pipeline file.
        rows, dead: the comparison of rows and dead letters.
        disorder: sentences about files with the right lines in the wrong order.
        left_out: queries whose rows follow the machine's clock, and are not compared.
        records: lines about the records of the smallest differing window, from `with_records`.
    """

    name: str
    conservation: tuple[Conservation, ...]
    rows: Comparison
    dead: Comparison
    disorder: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    records: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the output is the definition's, with every record accounted for."""
        return (
            not self.rows.differences
            and not self.dead.differences
            and not self.disorder
            and all(part.ok for part in self.conservation)
        )

    @property
    def smallest(self) -> Difference | None:
        """The differing row with the fewest records; None if no row differs."""
        return min(self.rows.differences, key=_size, default=None)

    def lines(self) -> list[str]:
        """Return the verdict as text; the last line counts rows and dead letters together."""
        lines = [str(part) for part in self.conservation]
        for kind, part in (("rows", self.rows), ("dead letters", self.dead)):
            lines.append(f"{kind}: {part.found} found, {part.expected} expected")
        lines += [
            f"rows of {name}: not compared, because it follows the machine's clock"
            for name in self.left_out
        ]
        lines += self.disorder
        if self.smallest is not None:
            lines += [*_show_window(self.smallest), *self.records]
        if self.dead.differences:
            lines += _show(
                min(self.dead.differences, key=_dead_order), "first differing dead letter"
            )
        totals = zip(self.rows.totals, self.dead.totals, strict=True)
        lost, duplicated, differing = (rows + dead for rows, dead in totals)
        return [*lines, f"lost {lost}, duplicated {duplicated}, differing {differing}"]


def verify(pipeline: Pipeline, log: Iterable[LogEntry], output: Output) -> Verdict:
    """Compare an output with the definition.

    Args:
        pipeline: the pipeline.
        log: the whole log, from an independent reader.
        output: what the run wrote.

    Raises:
        BadLogError: this is not a log of the pipeline.
        IntSumError: the definition has no result, since a sum of ints exceeds 64 bits.
    """
    witness, left_out = _Witness(log), _by_the_wall_clock(pipeline)
    output = replace(output, rows=_without(output.rows, left_out))
    outcome = evaluate(pipeline, witness)
    expected_rows = [(row_identity(row), row_line(row)) for row in outcome.rows]
    expected_dead = [(dead_letter_identity(d), dead_letter_line(d)) for d in outcome.dead]
    rows = compare(expected_rows, output.rows)
    dead = compare(expected_dead, output.dead)
    counts = _counts_of(pipeline, outcome, output)
    return Verdict(
        name=output.name,
        conservation=tuple(
            Conservation(name, witness.read(outcome.dead), counts[name], outcome.counts[name])
            for name in outcome.counts
        ),
        rows=rows,
        dead=dead,
        disorder=(
            *_disorder(output, "rows", expected_rows, output.rows),
            *_disorder(output, "dead letters", expected_dead, output.dead),
        ),
        left_out=left_out,
    )


def _by_the_wall_clock(pipeline: Pipeline) -> tuple[str, ...]:
    """Return the queries that the promise does not cover."""
    return tuple(query.name for query in pipeline.operators if query.clock == "wall")


def _without(
    rows: list[tuple[Identity, str]], queries: Collection[str]
) -> list[tuple[Identity, str]]:
    names = {json.dumps(name) for name in queries}
    return [row for row in rows if row[0][0] not in names]


class _Witness:
    """A log that passes records through and remembers their positions, redelivered or not."""

    def __init__(self, log: Iterable[LogEntry]) -> None:
        self._log = log
        self.places: set[tuple[str, int, int]] = set()
        self._controls: set[tuple[str, int, int]] = set()

    def __iter__(self) -> Iterator[LogEntry]:
        for entry in self._log:
            places = self.places if entry.control is None else self._controls
            places.add((entry.source, entry.partition, entry.offset))
            yield entry

    def read(self, dead: Iterable[DeadLetter]) -> int:
        """Count the records read: data records, and control records that are dead letters."""
        refused = {(one.source, one.partition, one.offset) for one in dead}
        return len(self.places) + len(self._controls & refused)


def _counts_of(pipeline: Pipeline, outcome: Outcome, output: Output) -> dict[str, Counts]:
    if output.counts is not None:
        return output.counts
    counts = {}
    for query in pipeline.flows:
        known = outcome.counts[query.name]
        dead = count_dead(output.dead, query.name)
        counts[query.name] = Counts(known.read, known.applied, known.outside, known.dropped, dead)
    return counts


def with_records(verdict: Verdict, pipeline: Pipeline, log: Iterable[LogEntry]) -> Verdict:
    """Add to a verdict the records that its smallest differing row should consist of.

    Args:
        verdict: the result of `verify`.
        pipeline: the pipeline.
        log: the whole log, once more.
    """
    # The key of a join's row already names its records.
    if verdict.smallest is None or pipeline.join is not None:
        return verdict
    fields, entries = _fields(verdict.smallest), list(log)
    row = RowId(fields["query"], fields["window_id"], tuple(fields["key"]), fields["revision"])
    held = sorted(held_by(pipeline, entries, row))
    values = {(entry.partition, entry.offset): entry.value or b"" for entry in entries}
    shown = [
        f"    partition {lane}, offset {offset}: {values[lane, offset].decode(errors='replace')}"
        for lane, offset in held[:_RECORDS_SHOWN]
    ]
    more = [f"    and {len(held) - len(shown)} more"] if len(held) > len(shown) else []
    head = f"  its records by the definition: {len(held) or 'none, there is no such row'}"
    return replace(verdict, records=(head, *shown, *more))


def compare(expected: list[tuple[Identity, str]], found: list[tuple[Identity, str]]) -> Comparison:
    """Compare lines by their identities, ignoring their order."""
    wanted = dict(expected)
    got: dict[Identity, list[str]] = defaultdict(list)
    for identity, line in found:
        got[identity].append(line)
    differences = [
        Difference(line, tuple(got.get(identity, ())))
        for identity, line in expected
        if got.get(identity) != [line]
    ]
    differences += [
        Difference(None, tuple(lines)) for identity, lines in got.items() if identity not in wanted
    ]
    return Comparison(len(expected), len(found), tuple(differences))


def _disorder(
    output: Output,
    kind: str,
    expected: list[tuple[Identity, str]],
    found: list[tuple[Identity, str]],
) -> list[str]:
    """Describe where correct lines are in the wrong order; wrong lines are counted elsewhere."""
    if not output.ordered or sorted(expected) != sorted(found):
        return []
    pairs = enumerate(zip(expected, found, strict=True), 1)
    line = next((number for number, (want, got) in pairs if want != got), None)
    return [] if line is None else [f"{kind} of {output.name}: out of order from line {line} on"]


def _sum_line(read: int, counts: Counts) -> str:
    return (
        f"read {read} = applied {counts.applied} + outside {counts.outside} "
        f"+ dropped {counts.dropped} + dead {counts.dead}"
    )


def _fields(difference: Difference) -> dict[str, Any]:
    line = difference.found[0] if difference.expected is None else difference.expected
    fields: dict[str, Any] = json.loads(line)
    return fields


def _size(difference: Difference) -> tuple[object, ...]:
    """Sort key: number of records (few can be checked by hand), then window."""
    fields = _fields(difference)
    numbers = (_number(fields.get("records")), _number(fields["window_id"]))
    return (*numbers, *(json.dumps(fields[name]) for name in ("query", "key", "revision")))


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else -1


def _dead_order(difference: Difference) -> str:
    return difference.expected or difference.found[0]


def _show_window(difference: Difference) -> list[str]:
    fields = _fields(difference)
    key = json.dumps(fields["key"], ensure_ascii=False)
    what = (
        f"smallest differing window: {fields['query']} window {fields['window_id']}, key {key}, "
        f"revision {fields['revision']}"
    )
    return _show(difference, what)


def _show(difference: Difference, what: str) -> list[str]:
    found = difference.found or ("(nothing)",)
    return [
        what,
        f"  expected {difference.expected or '(nothing)'}",
        *(f"  found    {line}" for line in found),
    ]
