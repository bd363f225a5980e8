"""Dead letters for the person who has to fix a producer: by reason, with examples.

They come from a run's tables, or from the files that `run` wrote; for files, the rejected field is
found by judging the record again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from windowing.engine.reading.batches import Entry, raw_rows
from windowing.engine.reading.objects import BadValue
from windowing.engine.reading.pack import read_record, refusal_of
from windowing.engine.reading.refusals import Detail, detail, late_detail
from windowing.engine.reading.rules import ValueRules
from windowing.explain.ways_out import way_out
from windowing.model import Pipeline
from windowing.model.computed import is_of_expression
from windowing.model.source import Source
from windowing.spark.sinks import reader_of
from windowing.spark.sinks.reader import OutputReader

_PLACE = ("source", "partition", "offset")
_COLUMNS = (*_PLACE, "query", "reason", *Detail._fields)


class DeadLettersError(RuntimeError):
    """Unreadable dead letters."""

    exit_code = 2


@dataclass(frozen=True)
class Letter:
    """A dead letter, with the rejected field.

    Attributes:
        source, partition, offset: the record's position.
        query: the query that rejected it; None: no query could use it.
        reason: the reason, as in the contract.
        field, value, rule: as in `windowing.engine.reading.refusals.Detail`; None for letters older
            than these columns.
    """

    source: str
    partition: int
    offset: int
    query: str | None
    reason: str
    field: str | None = None
    value: str | None = None
    rule: str | None = None


@dataclass(frozen=True)
class Reason:
    """All letters with the same reason.

    Attributes:
        letters: number of letters; a record rejected by two queries has two.
        records: number of distinct records.
        share: share of all records read; None: unknown.
        do: what to do about it.
        examples: some of them, spread over the refused fields.
    """

    reason: str
    letters: int
    records: int
    share: float | None
    do: str
    examples: tuple[Letter, ...]

    def as_json(self) -> str:
        """Format it as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)


def by_reason(
    letters: Iterable[Letter], read: int | None, examples: int, source: Source | None = None
) -> list[Reason]:
    """Summarize letters, the most frequent reason first.

    Args:
        read: number of records read by the run; None: unknown.
        examples: number of examples per reason.
        source: what refused them, for advice on their values; None: unknown.
    """
    found: dict[str, list[Letter]] = {}
    for letter in letters:
        found.setdefault(letter.reason, []).append(letter)
    reasons = [_reason(reason, own, read, examples, source) for reason, own in found.items()]
    return sorted(reasons, key=lambda one: (-one.letters, one.reason))


def _reason(
    reason: str, letters: list[Letter], read: int | None, examples: int, source: Source | None
) -> Reason:
    one = next(_spread(letters, 1), letters[0])
    records = len({(own.source, own.partition, own.offset) for own in letters})
    return Reason(
        reason=reason,
        letters=len(letters),
        records=records,
        share=records / read if read else None,
        do=way_out(reason, one.field, one.value, source, rule=one.rule),
        examples=tuple(_spread(letters, examples)),
    )


def _spread(letters: list[Letter], most: int) -> Iterator[Letter]:
    """Order letters: first one per rejected field, then the others, in the order of the log."""
    ordered = sorted(letters, key=lambda one: (one.source, one.partition, one.offset))
    turns: dict[str | None, int] = {}
    ranked = []
    for place, letter in enumerate(ordered):
        turns[letter.field] = turn = turns.get(letter.field, -1) + 1
        ranked.append((turn, place))
    yield from (ordered[place] for _, place in sorted(ranked)[:most])


Letters = tuple[list[Letter], int | None]
"""Dead letters of a run, and the number of records it has read; None: unknown."""


def letters_of(pipeline: Pipeline, folder: Path, run: str) -> Letters | None:
    """Read a run's dead letters with details; None: only its sink's reader can.

    Args:
        folder: folder of the run's tables, for a sink that writes files.

    Raises:
        OutputUnreadable: they are not there, or cannot be read.
    """
    reader = reader_of(pipeline, folder, run)
    return None if reader is None else letters_in(reader)


def letters_in(reader: OutputReader) -> Letters:
    """Return the dead letters that a reader finds, and the number of records read.

    Raises:
        OutputUnreadable: they are not there, or cannot be read.
    """
    return [_letter(row) for row in reader.dead_letters()], _read(reader.read_counts())


def _letter(row: Mapping[str, Any]) -> Letter:
    """Build a letter from a row; older rows lack the details' columns, or have nulls."""
    return Letter(**{name: row.get(name) for name in _COLUMNS})  # type: ignore[arg-type]


def _read(counts: Iterable[tuple[str, int]]) -> int | None:
    """Return the number of records read: every query reads all of them."""
    by_query: dict[str, int] = {}
    for query, read in counts:
        by_query[query] = by_query.get(query, 0) + read
    return max(by_query.values(), default=None)


def in_files(
    pipeline: Pipeline, file: Path, log: Iterable[Entry]
) -> tuple[list[Letter], int | None]:
    """Read the dead letters that `run` wrote, each judged again for its details.

    Args:
        file: OUT.dead.jsonl.
        log: the input of that run.

    Raises:
        DeadLettersError: the file cannot be read, or belongs to another log.
    """
    letters, read = _lines(file), 0
    about: dict[tuple[str, int, int], list[int]] = {}
    for number, letter in enumerate(letters):
        about.setdefault((letter.source, letter.partition, letter.offset), []).append(number)
    judge = _Judge(pipeline)
    for entry in log:
        numbers = about.get((entry.source, entry.partition, entry.offset), ())
        read += entry.control is None or bool(numbers)
        for number in numbers:
            judged = judge.again(letters[number], entry)
            letters[number] = replace(letters[number], **judged._asdict())
    return letters, read


class _Judge:
    """Judges rejected records again, to find the rejected field and rule."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._source, self._rules = pipeline.source, dict[int, ValueRules]()
        self._rules_of = partial(ValueRules.of, pipeline)
        self._queries = {query.name: query for query in pipeline.flows}

    def again(self, letter: Letter, entry: Entry) -> Detail:
        """Return field, value and rule of the rejection of a letter's record.

        Raises:
            DeadLettersError: this query could not have rejected the record.
        """
        number = self._source.number(entry.source, entry.partition) or 0
        if number not in self._rules:
            self._rules[number] = self._rules_of(number)
        rules = self._rules[number]
        rows = raw_rows([entry], self._source.place(number)[0])
        try:
            if letter.query is None and is_of_expression(letter.reason):
                return refusal_of(rows, rules)
            if letter.query is None:
                return detail(letter.reason, entry.value, entry.control, entry.append_us, rules)
            return late_detail(self._queries[letter.query], *read_record(rows, rules))
        except (KeyError, BadValue):
            msg = (
                f"offset {letter.offset} of {letter.source}/{letter.partition} cannot have been "
                f"{letter.reason} for query {letter.query}: are pipeline and log those of the file?"
            )
            raise DeadLettersError(msg) from None


def of_lines(lines: Iterable[str], place: str) -> list[Letter]:
    """Read letters from lines of JSON.

    Args:
        lines: one letter per line.
        place: their file, for messages.

    Raises:
        DeadLettersError: a line is not a letter.
    """
    letters = []
    for number, line in enumerate(lines, 1):
        try:
            letters.append(Letter(**json.loads(line)))
        except (ValueError, TypeError):
            msg = f"{place}:{number}: no dead letter: is it the OUT.dead.jsonl that `run` wrote?"
            raise DeadLettersError(msg) from None
    return letters


def _lines(file: Path) -> list[Letter]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        msg = f"{file} cannot be read ({error}): give the OUT.jsonl of `run`, whose dead letters it"
        raise DeadLettersError(msg + " stands beside") from None
    return of_lines(lines, str(file))
