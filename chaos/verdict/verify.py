"""The verdict on an output: does it equal the definition's result for the log, byte for byte?

There are three questions about both rows and dead letters. Lost: which lines of the definition are
missing? Duplicated: which identities occur more than once? Differing: which have other bytes, or
should not exist? A fourth is about the counts: has every record that an independent reader saw
have exactly one fate?
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from chaos.readers.output import RETRACT, Line, Output, count_dead
from chaos.verdict.comparison import (
    Comparison,
    Difference,
    LineMatch,
    dead_letter_text,
    first_misplaced,
    row_id,
    row_size,
    typed_key,
)
from chaos.verdict.in_parts import DividedLog, Means
from chaos.verdict.point import Point
from chaos.verdict.ranges import Account, changed, dead_before, rows_before
from chaos.verdict.spool import Shelf
from windowing.model.fates import Counts
from windowing.model.file.pipeline import Pipeline
from windowing.model.rows import DeadLetter, Row, dead_letter_order, row_order
from windowing.semantics import LogEntry, RowId, meaning_of

_RECORDS_SHOWN: Final = 20


@dataclass(frozen=True)
class Conservation:
    """The accounting of one query's records.

    Attributes:
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
        return self.read == found.total == found.read and found == self.expected

    def __str__(self) -> str:
        found, expected = self.found, self.expected
        line = f"{self.query}: {replace(found, read=self.read)}"
        if self.ok:
            return line
        if found.read != self.read:
            line += f"; the run counted {found.read} read"
        return f"{line}; the definition has {expected}"


@dataclass(frozen=True)
class Verdict:
    """The result of comparing an output with the definition.

    Attributes:
        conservation: the accounting by query, in the order of the pipeline file.
        disorder: sentences about files with the right lines in the wrong order, and about lines
            before the range that are not those that were verified.
        left_out: queries whose rows follow the machine's clock, and are not compared.
        before: number of lines found that lie before the range, and are not compared one by one;
            None: the range is the whole log.
        records: lines about the records of the smallest differing window, from `with_records`.
    """

    name: str
    conservation: tuple[Conservation, ...]
    rows: Comparison
    dead: Comparison
    disorder: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    before: int | None = None

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
        return min(self.rows.differences, key=row_size, default=None)

    def lines(self) -> list[str]:
        """Return the verdict as text; the last line counts rows and dead letters together."""
        lines = [str(part) for part in self.conservation]
        for kind, part in (("rows", self.rows), ("dead letters", self.dead)):
            lines.append(f"{kind}: {part.found} found, {part.expected} expected")
        if self.before is not None:
            lines.append(f"before the range: {self.before} lines, not compared one by one")
        lines += [
            f"rows of {name}: not compared, because it follows the machine's clock"
            for name in self.left_out
        ]
        lines += self.disorder
        if self.smallest is not None:
            lines += [*_show_window(self.smallest), *self.records]
        if self.dead.differences:
            lines += _show(
                min(self.dead.differences, key=dead_letter_text), "first differing dead letter"
            )
        totals = zip(self.rows.totals, self.dead.totals, strict=True)
        lost, duplicated, differing = (rows + dead for rows, dead in totals)
        return [*lines, f"lost {lost}, duplicated {duplicated}, differing {differing}"]


def verify(
    pipeline: Pipeline,
    log: Iterable[LogEntry],
    output: Output,
    means: Means | None = None,
    *,
    since: Point | None = None,
    keep: Path | None = None,
) -> Verdict:
    """Compare an output with the definition.

    Args:
        log: the whole log, from an independent reader; of a range as of `DividedLog.follow`.
        output: what the run wrote, from the beginning of the log on.
        means: the memory and the processes that may be used; None: those of `Means()`.
        since: the point at which the range begins that is judged; None: with the log.
        keep: where the point at the end of the log is kept, if all is well; None: nowhere.

    Raises:
        BadLogError: this is not a log of the pipeline.
        HiddenStateError: a point is kept, and a plug-in's generator may keep anything.
        PointError: the log before the range is no longer what it was.
    """
    means, left_out = means or Means(), _by_the_wall_clock(pipeline)
    found_rows = partial(_without, output.rows, left_out)
    with Shelf(means.values_max, means.folder) as shelf:
        divided = DividedLog(pipeline, shelf, means, since=since, keeps=keep is not None)
        rows = LineMatch(shelf, row_size, rows_before(pipeline, divided, since))
        dead = LineMatch(shelf, dead_letter_text, dead_before(pipeline, since))
        rows.find(found_rows())
        dead.find(_of_one_query(output.dead, pipeline))
        divided.follow(log)
        account = Account(pipeline, divided, shelf, since)
        _expect(account, divided, rows, dead)
        compared, letters = rows.compare(), dead.compare()
        expected = account.counts
        counts = _counts_of(expected, output)
        verdict = Verdict(
            name=output.name,
            conservation=tuple(
                Conservation(name, divided.read, counts[name], known)
                for name, known in expected.items()
            ),
            rows=compared,
            dead=letters,
            disorder=(
                *changed(since, rows, dead),
                *_disorder(output, "rows", compared, found_rows, partial(_row_order, pipeline)),
                *_disorder(
                    output, "dead letters", letters, lambda: output.dead, _dead_letter_order
                ),
            ),
            left_out=left_out,
            before=None if since is None else rows.before.lines + dead.before.lines,
        )
        if keep is not None and verdict.ok:
            account.keep(keep, rows.found, dead.found)
    return verdict


def _expect(account: Account, divided: DividedLog, rows: LineMatch, dead: LineMatch) -> None:
    dead.expect(divided.bad)
    for part in account.parts():
        rows.expect(part.rows)
        rows.pass_over(part.before)
        dead.expect(part.dead)


def _of_one_query(letters: Iterable[Line], pipeline: Pipeline) -> Iterable[Line]:
    """Return dead letters without those of names that turned out to be of different queries.

    A run may have written some before it knew.
    """
    conflicts = {json.dumps(name) for name in pipeline.conflicts}
    return (line for line in letters if line[0][-1] not in conflicts) if conflicts else letters


def _by_the_wall_clock(pipeline: Pipeline) -> tuple[str, ...]:
    """Return the queries that the promise does not cover."""
    return tuple(flow.name for flow in pipeline.flows if flow.by_wall_clock)


def _without(rows: Iterable[Line], queries: Collection[str]) -> Iterator[Line]:
    names = {json.dumps(name) for name in queries}
    return (row for row in rows if row[0][0] not in names)


def _counts_of(expected: Mapping[str, Counts], output: Output) -> Mapping[str, Counts]:
    if output.counts is not None:
        return output.counts
    return {name: known.but(dead=count_dead(output.dead, name)) for name, known in expected.items()}


def with_records(
    verdict: Verdict,
    pipeline: Pipeline,
    log: Iterable[LogEntry],
    means: Means | None = None,
    since: Point | None = None,
) -> Verdict:
    """Add to a verdict the records that its smallest differing row should consist of.

    Args:
        verdict: the result of `verify`.
        log: as for `verify`; it can be read twice.
    """
    # The key of a join's row already names its records.
    if verdict.smallest is None or pipeline.join is not None:
        return verdict
    row = row_id(verdict.smallest.fields, pipeline)
    held = [] if row is None else _held(pipeline, log, row, means or Means(), since)
    places = set(held[:_RECORDS_SHOWN])
    values = {
        place: entry.value or b""
        for entry in (log if places else ())
        if (place := (entry.source, entry.partition, entry.offset)) in places
    }
    shown = [
        f"    {_lane(pipeline, place)}, offset {place[2]}: {_text(values.get(place))}"
        for place in sorted(places)
    ]
    more = [f"    and {len(held) - len(shown)} more"] if len(held) > len(shown) else []
    head = f"  its records by the definition: {len(held) or 'none, there is no such row'}"
    return replace(verdict, records=(head, *shown, *more))


def _lane(pipeline: Pipeline, place: tuple[str, int, int]) -> str:
    topic, partition, _ = place
    return f"partition {partition}" if pipeline.one_topic else f"{topic}/{partition}"


def _text(value: bytes | None) -> str:
    return "(read before the range)" if value is None else value.decode(errors="replace")


def _held(
    pipeline: Pipeline, log: Iterable[LogEntry], row: RowId, means: Means, since: Point | None
) -> list[tuple[str, int, int]]:
    """Return the places of a row's records, in their order; none if there is no such row."""
    query = next((query for query in pipeline.flows if query.name == row.query), None)
    if query is None:
        return []
    with Shelf(means.values_max, means.folder) as shelf:
        divided = DividedLog(pipeline, shelf, means, only=query.name, since=since)
        divided.follow(log)
        for division, path, view in divided.views():
            if division.decides(path, row.key, row.window_id):
                held = meaning_of(query).held_by(pipeline.source, view, row)
                if held:
                    return sorted(held)
    return []


def _disorder(
    output: Output,
    kind: str,
    compared: Comparison,
    found: Callable[[], Iterable[Line]],
    order: Callable[[dict[str, Any]], tuple[object, ...]],
) -> list[str]:
    """Describe where correct lines are in the wrong order; wrong lines are counted elsewhere."""
    if not output.ordered or compared.differences:
        return []
    line = first_misplaced(lambda: (order(json.loads(text)) for _, text in found()))
    return [] if line is None else [f"{kind} of {output.name}: out of order from line {line} on"]


def _row_order(pipeline: Pipeline, fields: dict[str, Any]) -> tuple[object, ...]:
    key = tuple(typed_key(fields, pipeline))
    extent = fields["window_start"], fields["window_end"]
    retracts = fields.get("op") == RETRACT
    place = (fields["query"], fields["window_id"], *extent, key, fields["pane"])
    return row_order(Row(*place, fields["revision"], 0, {}, {}, retracts))


def _dead_letter_order(fields: dict[str, Any]) -> tuple[object, ...]:
    return dead_letter_order(DeadLetter(**fields))


def _show_window(difference: Difference) -> list[str]:
    fields = difference.fields
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
