"""The definition: the rows of a pipeline as a function of its log.

For each query and key, window w holds the records that the query takes for w. Of them,

    revision 0  are the records on time; it exists iff there is one and P >= end(w);
    revision r  adds the late records of the r-th epoch E that has any; it exists iff P >= E,

where P is the stream's final progress, the minimum over all declared lanes. A row shows the whole
window as of its revision. Nothing else is said, and so nothing else can have an influence: neither
the order between lanes nor batches nor clocks.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from windowing.semantics.aggregates import IntSumError, aggregate
from windowing.semantics.lanes import Arrival, Progress, follow
from windowing.semantics.lateness import judge
from windowing.semantics.log import LogEntry, split_lanes
from windowing.semantics.values import Record, ValueReader
from windowing.semantics.windows import extent, wids
from windowing.spec.fields import Aggregate
from windowing.spec.pipeline import Pipeline, Query, Source
from windowing.spec.rows import DeadLetter, Key, Row, Scalar, dead_letter_order, row_order


@dataclass(frozen=True)
class Counts:
    """What became of a query's records; `read = applied + outside + dropped + dead`.

    Attributes:
        read: data records of the log, bad values included, control records not.
        applied: taken by at least one window, closed or not.
        outside: in no window: before the origin, or in a gap.
        dropped: late, under the policy `drop`.
        dead: dead letters: bad values, after the end, late, or out of retention.
    """

    read: int
    applied: int
    outside: int
    dropped: int
    dead: int


@dataclass(frozen=True)
class Outcome:
    """All that a log means to a pipeline.

    Attributes:
        rows: every revision of every window, in the order of an output file.
        dead: every dead letter, in the order of an output file.
        counts: by query, in the order of the file.
        progress: each lane's final progress in microseconds; None: it never had any; `math.inf`:
            it has ended.
    """

    rows: list[Row]
    dead: list[DeadLetter]
    counts: dict[str, Counts]
    progress: dict[str, int | float | None]


@dataclass
class _Window:
    """What one window holds for one key."""

    on_time: list[Arrival] = field(default_factory=list)
    late: dict[int, list[Arrival]] = field(default_factory=lambda: defaultdict(list))


def evaluate(pipeline: Pipeline, log: Iterable[LogEntry]) -> Outcome:
    """Return the rows, dead letters and counts that this log has under this pipeline.

    Args:
        pipeline: what is computed.
        log: the whole log; lanes may interleave in any way, each in offset order.

    Raises:
        BadLogError: not a log of this pipeline.
        IntSumError: a sum of ints in some row leaves 64 bits.
    """
    source, reader = pipeline.source, ValueReader(pipeline)
    arrivals: list[Arrival] = []
    progress: dict[str, Progress] = {}
    for partition, entries in enumerate(split_lanes(source, log)):
        lane = source.lane(partition)
        of_lane, progress[lane] = follow(lane, entries, reader, source.disorder)
        arrivals += of_lane
    final = min(progress.values())
    dead = [_dead(source, a, None, a.content) for a in arrivals if isinstance(a.content, str)]
    bad_values = len(dead)
    rows: list[Row] = []
    counts: dict[str, Counts] = {}
    for query in pipeline.queries:
        windows, refused, tally = _take(query, source, arrivals)
        rows += _rows(query, source, windows, final)
        dead += refused
        counts[query.name] = Counts(
            read=len(arrivals),
            applied=tally["applied"],
            outside=tally["outside"],
            dropped=tally["dropped"],
            dead=bad_values + len(refused),
        )
    return Outcome(
        rows=sorted(rows, key=row_order),
        dead=sorted(dead, key=dead_letter_order),
        counts=counts,
        progress={lane: None if p == -math.inf else p for lane, p in progress.items()},
    )


def _take(
    query: Query, source: Source, arrivals: Iterable[Arrival]
) -> tuple[dict[tuple[int, Key], _Window], list[DeadLetter], dict[str, int]]:
    """Put every good record into the windows that take it; return the refused ones beside them."""
    windows: dict[tuple[int, Key], _Window] = defaultdict(_Window)
    refused: list[DeadLetter] = []
    tally = {"applied": 0, "outside": 0, "dropped": 0}
    for arrival in arrivals:
        record = arrival.content
        if not isinstance(record, Record):
            continue
        ids = wids(query.window, record.ts_us)
        taken = judge(query, ids, arrival.progress)
        key: Key = tuple(record.fields[name] for name in query.group_by)
        for wid in taken.on_time:
            windows[wid, key].on_time.append(arrival)
        for wid, release_us in taken.released:
            windows[wid, key].late[release_us].append(arrival)
        if not ids:
            tally["outside"] += 1
        elif taken:
            tally["applied"] += 1
        elif query.late.policy == "drop":
            tally["dropped"] += 1
        else:
            reason = "late" if query.late.policy == "dead_letter" else "out_of_retention"
            refused.append(_dead(source, arrival, query.name, reason))
    return windows, refused, tally


def _rows(
    query: Query, source: Source, windows: dict[tuple[int, Key], _Window], final: Progress
) -> Iterator[Row]:
    for (wid, key), window in windows.items():
        _, end_us = extent(query.window, wid)
        holds = list(window.on_time)
        if holds and final >= end_us:
            yield _row(query, source, wid=wid, key=key, revision=0, holds=holds)
        for revision, release_us in enumerate(sorted(window.late), start=1):
            holds += window.late[release_us]
            if final >= release_us:
                yield _row(query, source, wid=wid, key=key, revision=revision, holds=holds)


def _row(
    query: Query, source: Source, *, wid: int, key: Key, revision: int, holds: list[Arrival]
) -> Row:
    start_us, end_us = extent(query.window, wid)
    records = [arrival.content for arrival in holds if isinstance(arrival.content, Record)]
    by_lane: dict[str, list[int]] = defaultdict(list)
    for arrival in holds:
        by_lane[arrival.lane].append(arrival.offset)
    try:
        values = {spec.name: _value(spec, source, records) for spec in query.aggregates}
    except IntSumError as error:
        msg = f"query {query.name}, window {wid} [{start_us}, {end_us}), key {list(key)}: {error}"
        raise IntSumError(msg) from None
    return Row(
        query=query.name,
        window_id=wid,
        window_start_us=start_us,
        window_end_us=end_us,
        key=key,
        pane="full" if revision == 0 else "late",
        revision=revision,
        records=len(holds),
        offsets={lane: (min(offsets), max(offsets)) for lane, offsets in by_lane.items()},
        values=values,
    )


def _value(spec: Aggregate, source: Source, records: list[Record]) -> Scalar:
    if spec.field is None:
        return len(records)
    name = spec.field
    return aggregate(spec, source.fields[name].kind, [r.fields[name] for r in records])


def _dead(source: Source, arrival: Arrival, query: str | None, reason: str) -> DeadLetter:
    return DeadLetter(source.topic, arrival.partition, arrival.offset, query, reason)
