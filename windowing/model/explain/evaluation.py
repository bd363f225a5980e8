"""How a query is evaluated, what that keeps, and why: the planner's answer as data.

Context classes: CF (context free), FCF and FCA (forward context free and aware; bounded: FCB,
unbounded: FCU), by what must be known beside a record to name its windows.

Source: Li et al., SIGMOD 2005, section 4 (classes), 5 (panes), and 4.4 (bins with partials).
"""

from __future__ import annotations

from dataclasses import dataclass

from windowing.model.fields import SIGNATURES, Aggregate
from windowing.model.file.pipeline import Pipeline, Query, Source
from windowing.model.progress.disorder import Slack
from windowing.model.rules import in_log_order
from windowing.model.windows.by_record import SlideByRank
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.own import OwnWindow
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.session import Session
from windowing.model.windows.sliding import Sliding
from windowing.model.windows.window import Window

_WORD_BYTES = 8
# Number of records, first and last offset; first and last window, and the epoch of late ones.
_HEAD_NUMBERS = 6


@dataclass(frozen=True)
class Evaluation:
    """How a query is evaluated.

    Attributes:
        context: CF, FCF, FCB or FCU.
        meaning: what that says of this window.
        way: what is kept instead of records, and where it is made.
        because: why this way, and not one that needs less.
        partials: about how many partial states a key has in each lane, while the lanes are level;
            None where that follows from the records.
        counted: what is counted there.
    """

    context: str
    meaning: str
    way: str
    because: str
    partials: int | None
    counted: str


def evaluation_of(query: Query, pipeline: Pipeline) -> Evaluation:
    """Choose by the class of the window."""
    window = query.window
    match window:
        case Sliding():
            return Evaluation(
                "CF",
                "context free: the record alone tells its windows",
                "slices, pre-aggregated in the lane; a closing window merges its slices",
                "records with the same first and last window are never told apart again",
                _slices(query, pipeline.source),
                "slices between the oldest window that can still change and the newest record",
            )
        case Landmark():
            return Evaluation(
                "CF",
                "context free: the record alone tells the first of its windows, and all follow",
                "one partial state per window not yet closed, and one of all that closed before",
                "a window is the one before it and what came since",
                _bins(query, pipeline.source),
                "windows not yet closed, and the sum of those before",
            )
        case RowWindow(order="log"):
            return Evaluation(
                "FCF",
                "forward context free: the record's number tells its windows, the past its number",
                "the lane numbers the rows; slices by row number",
                "a unit lies in one lane, so that its numbers are a fact of the log",
                _row_slices(window),
                "slices of rows between the oldest open window and the newest row",
            )
        case RowWindow():
            return Evaluation(
                "FCF",
                "forward context free in the order of event time: a record's number is its rank",
                "records wait until progress has passed them, and are numbered then; then slices",
                "a record that is still to come would renumber those after it",
                None,
                "records between progress and the newest, besides slices by row number",
            )
        case Session():
            return _sessions(window)
        case OwnWindow():
            return Evaluation(
                "CF",
                "context free: the record alone tells its windows",
                "slices, pre-aggregated in the lane; a closing window merges its slices",
                f"{window.kind} says which windows a value lies in, and where these end",
                None,
                "sets of windows that records share, as long as these can still change",
            )
    return _by_record(window)


def _sessions(window: Window) -> Evaluation:
    what = "rows of other keys" if in_log_order(window) else "time"
    return Evaluation(
        "FCU",
        "forward context aware, unbounded: a session ends when a gap has passed, and a late record "
        "may merge two",
        "chains of records, pre-aggregated in the lane; the shard draws sessions through them",
        f"records of a key with less than a gap of {what} between them are in one session for ever",
        None,
        "sessions that a record can still reach, times the epochs of their late records",
    )


def _by_record(window: Window) -> Evaluation:
    """The slide-by-tuple family: a record has windows at positions of records after it."""
    way = "bins at the positions where the aggregate changes, each with a partial state"
    if isinstance(window, SlideByRank):
        return Evaluation(
            "FCU",
            "forward context aware, unbounded: which records are windows shows when all before "
            "them are there",
            way + "; windows are counted off when progress passes",
            "one late arrival would shift all ranks after it",
            None,
            "bins: two per record in (progress - range, newest + range]",
        )
    return Evaluation(
        "FCB",
        "forward context aware, bounded: the record's windows lie at records up to one range on",
        way,
        "between two bins the aggregate is the same, whatever windows come to lie there",
        None,
        "bins: two per record in (progress - range, newest + range]",
    )


def _span(query: Query, source: Source) -> int | None:
    """How far behind the newest record a window may change, its range apart; None: unknown."""
    generator = source.generator_of(query.window.attribute)
    if not isinstance(generator, Slack):
        return None
    kept = (query.retention_us or 0) + (query.late.every_us or 0)
    return generator.slack_us + (kept if query.late.policy == "update" else 0)


def _slices(query: Query, source: Source) -> int | None:
    span, slide, range_ = _span(query, source), query.window.slide, query.window.range_ or 0
    if span is None:
        return None
    parts = 2 if range_ > slide and range_ % slide else 1
    return parts * (-(-(range_ + span) // slide) + 1)


def _bins(query: Query, source: Source) -> int | None:
    span = _span(query, source)
    return None if span is None else -(-span // query.window.slide) + 2


def _row_slices(window: Window) -> int:
    if window.range_ is None:
        return 2
    parts = 2 if window.range_ > window.slide and window.range_ % window.slide else 1
    return parts * (-(-window.range_ // window.slide) + 1)


def partial_bytes(query: Query, source: Source) -> int:
    """About how many bytes one partial state has, what grows with the records apart."""
    numbers = [_numbers(aggregate, source) for aggregate in query.aggregates]
    return _WORD_BYTES * (_HEAD_NUMBERS + len(query.group_by) + sum(n or 0 for n in numbers))


def growing(query: Query, source: Source) -> list[Aggregate]:
    """The aggregates whose partial states grow with the records."""
    return [a for a in query.aggregates if _numbers(a, source) is None]


def _numbers(aggregate: Aggregate, source: Source) -> int | None:
    if aggregate.function == "python":
        return None
    signature = SIGNATURES[aggregate.function]
    if signature.numbers is None:
        return None
    over_floats = aggregate.field is not None and source.fields[aggregate.field].kind == "float"
    kinds = [kind for kind, _ in signature.parameters]
    times = [
        int(given)
        for kind, given in zip(kinds, aggregate.parameters, strict=True)
        if kind in ("k", "size")
    ]
    return signature.numbers[over_floats] * (times[0] if times else 1)
