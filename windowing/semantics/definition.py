"""The definition: the rows of a pipeline as a function of its log.

`view` follows the log lane by lane, and gives each record the progress of its lane before it, and
each lane its final progress. From these alone, `revisions` derives each query's rows. So neither
the order between lanes, nor batches, nor clocks can influence them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from windowing.model.file.pipeline import Pipeline
from windowing.model.query import Flow
from windowing.model.rows import DeadLetter, Row, dead_letter_order, row_order
from windowing.semantics.arrivals import Arrival
from windowing.semantics.effective import effective
from windowing.semantics.flow_kinds import meaning_of
from windowing.semantics.log import LogEntry
from windowing.semantics.units import Item
from windowing.semantics.view import Views


@dataclass(frozen=True)
class Counts:
    """The fate of a query's records; `read = applied + outside + dropped + dead`.

    Attributes:
        read: data records of the log, including bad values, excluding control records.
        applied: taken by at least one window, open or closed.
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
        pipeline: the pipeline to evaluate.
        log: the whole log, in any interleaving of lanes; each lane in offset order.

    Raises:
        BadLogError: not a log of this pipeline.
        IntSumError: a sum of ints in some row overflows 64 bits.
    """
    log = list(log)
    pipeline = effective(pipeline, log)
    views = Views(pipeline, log)
    arrivals, lanes = views.by(None).arrivals, views.by(None).lanes
    bad = [bad_value(a, a.content) for a in arrivals if isinstance(a.content, str)]
    dead = list(bad)
    rows: list[Row] = []
    counts: dict[str, Counts] = {}
    for query in pipeline.flows:
        view = views.of(query)
        rows += meaning_of(query).rows(pipeline.source, view)
        refused, tally = fates(query, view.items)
        dead += refused
        counts[query.name] = Counts(len(arrivals), **tally, dead=len(bad) + len(refused))
    return Outcome(
        rows=sorted(rows, key=row_order),
        dead=sorted(dead, key=dead_letter_order),
        counts=counts,
        progress={
            lane.name: None if lane.progress == -math.inf else lane.progress for lane in lanes
        },
    )


def fates(query: Flow, items: Iterable[Item]) -> tuple[list[DeadLetter], dict[str, int]]:
    """Return a query's own dead letters, and how many records it applied, left outside, dropped."""
    definition = meaning_of(query).definition
    refused: list[DeadLetter] = []
    tally = {"applied": 0, "outside": 0, "dropped": 0}
    policy = query.late.policy
    for item in items:
        if definition.takes(item):
            tally["applied"] += 1
        elif definition.lateness(item) is None:
            tally["outside"] += 1
        elif policy == "drop":
            tally["dropped"] += 1
        else:
            reason = "late" if policy == "dead_letter" else "out_of_retention"
            place = (item.source, item.partition, item.offset)
            refused.append(DeadLetter(*place, query.name, reason))
    return refused, tally


def bad_value(arrival: Arrival, reason: str) -> DeadLetter:
    """Return the dead letter of a record that no query takes."""
    topic = arrival.lane.rpartition("/")[0]
    return DeadLetter(topic, arrival.partition, arrival.offset, None, reason)
