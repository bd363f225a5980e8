"""A range of a log: which lines lie before it, and the point at which the next one begins.

A row belongs to the range whose records make it due: the log up to the range's end has it, and the
log up to its start has not. A dead letter belongs to the range that has its record. The accounting
is of the whole log.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from chaos.readers.output import Line
from chaos.verdict.comparison import LineMatch, row_id
from chaos.verdict.in_parts import DividedLog, Means
from chaos.verdict.part_lines import PartLines
from chaos.verdict.point import Digest, Packed, Point, PointError
from chaos.verdict.spool import Shelf, Spool
from windowing.model.fates import DEAD, Counts
from windowing.model.file.pipeline import Pipeline
from windowing.semantics import LogEntry, LogOrder, Stream
from windowing.semantics.generators import HiddenStateError


class Account:
    """The accounting of a log whose parts are evaluated.

    Args:
        since: the point at which the log begins; None: at its beginning.
    """

    def __init__(
        self, pipeline: Pipeline, divided: DividedLog, shelf: Shelf, since: Point | None
    ) -> None:
        self._divided = divided
        so_far = {} if since is None else since.tallies
        for_all = divided.withheld + Counter({DEAD.name: len(divided.bad)})
        self._tallies = {
            query.name: Counter(so_far.get(query.name, {})) + for_all for query in pipeline.flows
        }
        self._kept = Spool[tuple[str, Packed]](shelf)

    def parts(self) -> Iterator[PartLines]:
        """Evaluate all parts; yield the lines of each; raise as of `DividedLog.lines`."""
        for part in self._divided.lines():
            self._tallies[part.query].update(part.tally)
            for packed in part.kept:
                self._kept.append((part.query, packed))
            yield part

    @property
    def counts(self) -> dict[str, Counts]:
        """The definition's counts by query, once all parts were evaluated."""
        fates, arrived = self._divided.fates, self._divided.arrived
        return {name: Counts.of(fates, arrived, **tally) for name, tally in self._tallies.items()}

    def keep(self, file: Path, rows: Digest | None, dead: Digest | None) -> Point:
        """Write the point at the end of the log, once all parts were evaluated.

        Args:
            rows: digest of the rows so far; None: they were not compared.
            dead: digest of the dead letters so far.

        Raises:
            HiddenStateError: a plug-in's generator may keep anything.
        """
        tallies = {name: dict(tally) for name, tally in self._tallies.items()}
        return self._divided.point(tallies, rows, dead).write(file, self._kept)


def point_before(
    pipeline: Pipeline,
    log: Iterable[LogEntry],
    first: Mapping[int, int],
    file: Path,
    means: Means | None = None,
) -> Point:
    """Return the point at some offsets; the log up to there is read, and its rows are not judged.

    Args:
        first: by lane, the first offset of the range; a missing lane is in it from its beginning.

    Raises:
        BadLogError: this is not a log of the pipeline.
        HiddenStateError: a plug-in's generator may keep anything.
        PointError: a lane ends before its offset.
    """
    means, source = means or Means(), pipeline.source
    reached = dict.fromkeys(first, False)

    def before() -> Iterator[LogEntry]:
        for entry in log:
            number = source.number(entry.source, entry.partition)
            if number is None or entry.offset < first.get(number, 0):
                yield entry
            elif number in reached:
                reached[number] = True

    with Shelf(means.values_max, means.folder) as shelf:
        divided = DividedLog(pipeline, shelf, means, judges=False, keeps=True)
        divided.follow(before())
        account = Account(pipeline, divided, shelf, None)
        for _ in account.parts():
            pass
        point = account.keep(file, None, None)
    for number, offset in first.items():
        last = point.lasts[number]
        if not reached[number] and (last is None or last.offset < offset - 1):
            end = "has no record" if last is None else f"ends at offset {last.offset}"
            msg = f"--since: {source.lane(number)} {end}, before offset {offset}"
            raise PointError(msg)
    return point


def why_no_point(pipeline: Pipeline) -> str | None:
    """Return why no verification of a pipeline can continue from a point; None: it can."""
    try:
        Stream(pipeline, None).state()
    except HiddenStateError as error:
        return str(error)
    return None


def offsets_at(pipeline: Pipeline, log: Iterable[LogEntry], at_us: int) -> dict[int, int]:
    """Return by lane the offset of the first record that takes its progress beyond an instant.

    A lane whose progress does not get there is missing, and so is in no range yet.

    Args:
        at_us: the instant, of the event time; rows that are due after it are in the range.

    Raises:
        BadLogError: this is not a log of the pipeline.
        PointError: keys have their own progress, so that no offset is that of an instant.
    """
    stream, order, found = Stream(pipeline, None), LogOrder(pipeline.source), dict[int, int]()
    ends: dict[int, int] = {}
    for entry in log:
        number = order.lane_of(entry)
        if number is None or number in found:
            continue
        stream.step(number, entry)
        lane = stream.lanes[number]
        if lane.by_key:
            msg = "--since: keys have progress of their own, and no instant is the lanes': "
            raise PointError(msg + "give offsets")
        ends[number] = entry.offset + 1
        if lane.progress > at_us:
            found[number] = entry.offset
    return {**ends, **found}


def rows_before(
    pipeline: Pipeline, divided: DividedLog, since: Point | None
) -> Callable[[Line], bool]:
    """Return whether a row lies before a range, if the definition has no such row in it."""
    keys = {query.name: query.key for query in pipeline.flows}

    def is_before(line: Line) -> bool:
        if since is None:
            return False
        fields = json.loads(line[1])
        row, end = row_id(fields, pipeline), fields.get("window_end")
        if row is None or type(end) is not int or len(row.key) != len(keys.get(row.query, ())):
            return False
        return row.query in keys and divided.is_done(row.query, row.key, row.window_id, end)

    return is_before


def dead_before(pipeline: Pipeline, since: Point | None) -> Callable[[Line], bool]:
    """Return whether a dead letter's record lies before a range."""

    def is_before(line: Line) -> bool:
        source, partition, offset = (json.loads(part) for part in line[0][:3])
        if since is None or not (type(partition) is type(offset) is int):
            return False
        number = pipeline.source.number(source, partition)
        return number is not None and since.is_before(number, offset)

    return is_before


def changed(since: Point | None, rows: LineMatch, dead: LineMatch) -> Iterator[str]:
    """Say which lines before a range are not those that were verified."""
    if since is None:
        return
    for kind, then, now in (
        ("rows", since.rows, rows.before),
        ("dead letters", since.dead, dead.before),
    ):
        if then is not None and then != now:
            yield (
                f"{kind} before the range are not those that were verified: {then.lines} then, "
                f"{now.lines} now; verify without --since tells which"
            )
