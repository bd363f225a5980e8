"""The definition: the rows of a pipeline as a function of its log.

`view` follows the log lane by lane, and gives each record the progress of its lane before it, and
each lane its final progress. From these alone, `revisions` derives each query's rows. So neither
the order between lanes, nor batches, nor clocks can influence them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from windowing.model.fates import APPLIED, BY_WINDOWS, DEAD, DROPPED, OUTSIDE, Counts, Fate
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import Flow
from windowing.model.rows import DeadLetter, Row, dead_letter_order, row_order
from windowing.semantics.aggregates import refused_by
from windowing.semantics.arrivals import ReadRecord
from windowing.semantics.flow_kinds import meaning_of
from windowing.semantics.log import LogEntry
from windowing.semantics.units import Item
from windowing.semantics.view import Views, effective
from windowing.semantics.windows.definition import FlowDefinition


@dataclass(frozen=True)
class Outcome:
    """Everything that a log yields under a pipeline.

    Attributes:
        rows: every revision of every window, in the order of an output file; none of operators that
            follow the machine's clock, which no log determines.
        dead: every dead letter, in the order of an output file.
        counts: by query, in file order.
        progress: each lane's final progress in microseconds; None: it never had any; `math.inf`: it
            ended.
    """

    rows: list[Row]
    dead: list[DeadLetter]
    counts: dict[str, Counts]
    progress: dict[str, int | float | None]


def evaluate(pipeline: Pipeline, log: Iterable[LogEntry]) -> Outcome:
    """Return the rows, dead letters and counts of a log under a pipeline, and its own changes.

    Args:
        log: the whole log, in any interleaving of lanes; each lane in offset order.

    Raises:
        BadLogError: not a log of this pipeline.
    """
    log = list(log)
    pipeline = effective(pipeline, log)
    views = Views(pipeline, log)
    arrivals, lanes = views.by(None).arrivals, views.by(None).lanes
    bad = [bad_value(a, a.content) for a in arrivals if isinstance(a.content, str)]
    of_all = Counter(name for arrival in arrivals for name in arrival.counts)
    dead = list(bad)
    rows: list[Row] = []
    counts: dict[str, Counts] = {}
    for query in pipeline.flows:
        view = views.of(query)
        rows += meaning_of(query).rows(pipeline.source, view)
        refused, tally = outcomes(query, view.items)
        dead += refused
        tally[DEAD.name] += len(bad)
        tally.update(of_all)
        counts[query.name] = Counts.of(pipeline.source.fates, len(arrivals), **tally)
    return Outcome(
        rows=sorted(rows, key=row_order),
        dead=sorted(dead, key=dead_letter_order),
        counts=counts,
        progress={
            lane.name: None if lane.progress == -math.inf else lane.progress for lane in lanes
        },
    )


def outcomes(query: Flow, items: Iterable[Item]) -> tuple[list[DeadLetter], Counter[str]]:
    """Return a query's own dead letters, and how many of the records have each fate."""
    definition, refused = meaning_of(query).definition, list[DeadLetter]()
    tally = Counter({fate.name: 0 for fate in BY_WINDOWS})
    for item in items:
        fate, reason = fate_of(query, definition, item)
        tally[fate.name] += 1
        if fate.buries:
            place = (item.source, item.partition, item.offset)
            refused.append(DeadLetter(*place, query.name, reason))
    return refused, tally


def fate_of(query: Flow, definition: FlowDefinition, item: Item) -> tuple[Fate, str]:
    """Return what becomes of a record in a query, with the reason of its dead letter, if any."""
    taken = definition.takes(item)
    if not taken and definition.lateness(item) is None:
        return OUTSIDE, ""
    if (name := refused_by(query.aggregates, item.fields)) is not None:
        return DEAD, f"refused_by:{name}"
    if taken:
        return APPLIED, ""
    return (DROPPED, "") if query.late.letter is None else (DEAD, query.late.letter)


def bad_value(arrival: ReadRecord, reason: str) -> DeadLetter:
    """Return the dead letter of a record that no query takes."""
    topic = arrival.lane.rpartition("/")[0]
    return DeadLetter(topic, arrival.partition, arrival.offset, None, reason)
