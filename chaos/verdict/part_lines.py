"""The lines of one part of a log, evaluated in this process or in another one.

All that a part needs besides its records is what the whole log leaves: the lanes, at the start of
the range and at its end. Both are JSON (`Evaluation.as_json`), so that a part can be evaluated
anywhere (`evaluated`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from operator import itemgetter

from chaos.readers.output import Identity, Line, dead_letter_identity, row_identity
from chaos.verdict.point import Packed
from chaos.verdict.spool import tuples
from windowing.model import parse_pipeline
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import Flow
from windowing.model.rows import DeadLetter, dead_letter_line, of_row, row_line
from windowing.semantics import Division, Stream, attribute_of, evaluate_part
from windowing.semantics.parts import Path, part_outcomes
from windowing.semantics.units import Item
from windowing.semantics.view import View, rank_of


class PartError(RuntimeError):
    """A part that another process could not evaluate, since the definition has no result."""

    exit_code = 1


@dataclass(frozen=True)
class PartLines:
    """The lines of one part.

    Attributes:
        before: the identities of rows that the same records had before the range.
        tally: numbers of records by the names of their fates, without those of bad values.
        kept: the records that may be in later rows.
    """

    query: str
    rows: Sequence[Line]
    before: Sequence[Identity]
    dead: Sequence[Line]
    tally: Mapping[str, int]
    kept: Sequence[Packed]


@dataclass(frozen=True)
class Evaluation:
    """What the lines of all parts depend on.

    Attributes:
        streams: the log along each attribute, at its end.
        before: the same at the start of the range.
        starts: by lane, the first offset of the range.
        judges: whether rows are wanted.
        keeps: whether the records are wanted that may be in later rows.
    """

    pipeline: Pipeline
    streams: Mapping[str | None, Stream]
    before: Mapping[str | None, Stream]
    starts: Sequence[int]
    judges: bool = True
    keeps: bool = False

    def lines(self, query: Flow, path: Path, records: Iterable[Packed]) -> PartLines:
        """Return the lines of a part.

        The records are in any order.
        """
        records = [*records]
        view, earlier = self.view(query, records), self._earlier(query, records)
        if self.judges:
            found = evaluate_part(self.pipeline, query, view, path, earlier)
            rows, sent, outcomes = found.rows, found.before, found.outcomes
        else:
            rows, sent, outcomes = [], [], part_outcomes(query, view, path, earlier)
        dead, tally = outcomes
        return PartLines(
            query=query.name,
            rows=[(row_identity(row), row_line(row)) for row in rows],
            before=[row_identity(row) for row in sent],
            dead=[dead_line(letter) for letter in dead],
            kept=self._kept(query, path, records) if self.keeps else [],
            tally=dict(tally),
        )

    def view(self, query: Flow, records: Iterable[Packed]) -> View:
        """Return a part's records as windows see them."""
        return self._stream(self.streams, query).view(self._items(records))

    def item(self, packed: Packed) -> Item:
        """Return a record as windows see it."""
        number, offset, value, progress, values = packed
        part, partition = self.pipeline.source.place(number)
        typed = zip(part.fields.items(), values, strict=True)
        fields = {name: of_row(one, type_.kind) for (name, type_), one in typed}
        rank = rank_of(self.pipeline.source, part.topic)
        return Item(value, part.topic, partition, offset, progress, fields, rank)

    def as_json(self) -> str:
        """Return all of this as JSON.

        Raises:
            HiddenStateError: a plug-in's generator may keep anything.
        """
        streams = [
            [[attribute, one.state()] for attribute, one in there.items()]
            for there in (self.streams, self.before)
        ]
        return json.dumps([self.pipeline.text, streams, self.starts, self.judges, self.keeps])

    def _earlier(self, query: Flow, records: Iterable[Packed]) -> View | None:
        """Return the records before the range as windows saw them then; None: there are none."""
        earlier = self._items(one for one in records if one[1] < self.starts[one[0]])
        return self._stream(self.before, query).view(earlier) if earlier else None

    def _kept(self, query: Flow, path: Path, records: Iterable[Packed]) -> list[Packed]:
        """Return the records that may be in later rows; those of several parts, from the first."""
        division, lanes = Division(query), self._stream(self.streams, query).lanes
        own = {}
        for packed in records:
            item = self.item(packed)
            if division.paths(item, len(path))[0] == path:
                own[item] = packed
        return [own[item] for item in division.open_items([*own], lanes)]

    def _stream(self, there: Mapping[str | None, Stream], query: Flow) -> Stream:
        return there[attribute_of(query, self.pipeline.source)]

    def _items(self, records: Iterable[Packed]) -> list[Item]:
        return [self.item(packed) for packed in sorted(records, key=itemgetter(0, 1))]


def task_of(query: str, path: Path, records: Iterable[Packed]) -> str:
    """Return a part for `evaluated`."""
    return json.dumps([query, path, [*records]])


def evaluated(evaluation_text: str, task: str) -> str:
    """Evaluate a part in a process that has nothing of the log; return its lines as JSON.

    The arguments are what `Evaluation.as_json` and `task_of` give.
    """
    evaluation = _evaluation(evaluation_text)
    name, path, records = tuples(json.loads(task))
    query = next(query for query in evaluation.pipeline.flows if query.name == name)
    try:
        return json.dumps(asdict(evaluation.lines(query, path, records)))
    except (ArithmeticError, ValueError) as error:
        return json.dumps(str(error))


def lines_of(answer: str) -> PartLines:
    """Return the lines that another process has evaluated.

    Raises:
        PartError: the definition has no result.
    """
    found = json.loads(answer)
    if isinstance(found, str):
        raise PartError(found)
    return PartLines(**{name: tuples(value) for name, value in found.items()})


def dead_line(letter: DeadLetter) -> Line:
    """Return a dead letter's line."""
    return dead_letter_identity(letter), dead_letter_line(letter)


@lru_cache(maxsize=1)
def _evaluation(evaluation_text: str) -> Evaluation:
    text, streams, starts, judges, keeps = json.loads(evaluation_text)
    pipeline = parse_pipeline(text)
    now, before = (
        {attribute: _stream_at(pipeline, attribute, state) for attribute, state in there}
        for there in streams
    )
    return Evaluation(pipeline, now, before, starts, judges, keeps)


def _stream_at(pipeline: Pipeline, attribute: str | None, state: list[object]) -> Stream:
    stream = Stream(pipeline, attribute)
    stream.go_on(state)
    return stream
