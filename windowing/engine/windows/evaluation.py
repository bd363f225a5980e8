"""How each class of windows is evaluated, what state that keeps, and why, for the plan.

Source: Li et al., SIGMOD 2005, section 5 (panes), and 4.4 (bins with partials).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from windowing.model import Query
from windowing.model.file.pipeline import Source
from windowing.model.progress import Slack
from windowing.model.query import Flow


class Keeps(Enum):
    """A query's state in shards between batches.

    Attributes:
        PARTIALS: partial states of records that need no longer be distinguished.
        RECORDS: single records.
        CHAINS: partial states of chains of records, which make up open sessions.
    """

    PARTIALS = "partial states"
    RECORDS = "records"
    CHAINS = "chains"


Estimate = Callable[[Query, Source], int | None]


def unknown(_: Query, __: Source) -> None:
    """Give no estimate: how many there are follows from the records."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """How a class of windows is evaluated.

    Attributes:
        way: what is kept instead of records, and where it is computed.
        because: why not a cheaper way.
        keeps: the state between batches.
        counted: the unit in which it is counted.
        estimate: about how many partial states a key has per lane while lanes progress evenly; None
            if that depends on the records.
    """

    way: str
    because: str
    keeps: Keeps
    counted: str
    estimate: Estimate = unknown


def past_end(query: Flow) -> int:
    """Give how far progress goes past a window's end before no late record can change it.

    Late records come before end + retention, and wait one epoch at most.
    """
    return (query.retention_us or 0) + (query.late.every_us or 0)


def _behind(query: Query, source: Source) -> int | None:
    """Return how far behind the newest record a window may change; None: unknown."""
    generator = source.generator_of(query.window.attribute)
    return generator.slack_us + past_end(query) if isinstance(generator, Slack) else None


def _slices(query: Query, source: Source) -> int | None:
    behind, window = _behind(query, source), query.window
    range_ = window.range_ or 0
    if behind is None:
        return None
    return _slices_each(range_, window.slide) * (-(-(range_ + behind) // window.slide) + 1)


def _bins(query: Query, source: Source) -> int | None:
    behind = _behind(query, source)
    return None if behind is None else -(-behind // query.window.slide) + 2


def _slices_of_periods(query: Query, source: Source) -> int | None:
    bins, steps = _bins(query, source), (query.window.range_ or 0) // query.window.slide
    # Windows of a period that has ended may still change, and each period has its own sum.
    return None if bins is None else bins + bins // steps + 1


def _slices_of_rows(query: Query, _: Source) -> int | None:
    range_, slide = query.window.range_, query.window.slide
    return 2 if range_ is None else _slices_each(range_, slide) * (-(-range_ // slide) + 1)


def _slices_each(range_: int, slide: int) -> int:
    return 2 if range_ > slide and range_ % slide else 1


SLICES = Evaluation(
    way="slices, pre-aggregated in the lane; a closing window merges its slices",
    because="records with the same first and last window are never told apart again",
    keeps=Keeps.PARTIALS,
    counted="slices between the oldest window that can still change and the newest record",
    estimate=_slices,
)
SHARED = Evaluation(
    way="slices of all windows of a family, pre-aggregated in the lane and kept once; windows that "
    "close are rolled up from them",
    because="queries with the same key and late policy see the same records",
    keeps=Keeps.PARTIALS,
    counted="slices between the oldest window that can still change and the newest record",
)
CUMULATIVE = Evaluation(
    way="one partial state per window not yet closed, and one of all that closed before",
    because="a window is the one before it and what came since",
    keeps=Keeps.PARTIALS,
    counted="windows not yet closed, and the sum of those before",
    estimate=_bins,
)
PERIODS = Evaluation(
    way="slices, as of sliding windows with this slide, pre-aggregated in the lane; a window is "
    "the one before it in its period, and its slice",
    because="a slice is in all later windows of its period, so nothing is kept per window",
    keeps=Keeps.PARTIALS,
    counted="slices of windows that can still change, and the sum of those before in the period",
    estimate=_slices_of_periods,
)
NUMBERED = Evaluation(
    way="the lane numbers the rows; slices by row number",
    because="a unit lies in one lane, so that its numbers are a fact of the log",
    keeps=Keeps.PARTIALS,
    counted="slices of rows between the oldest open window and the newest row",
    estimate=_slices_of_rows,
)
RANKED = Evaluation(
    way="records wait until progress has passed them, and are numbered then; then slices",
    because="a record that is still to come would renumber those after it",
    keeps=Keeps.RECORDS,
    counted="records between progress and the newest, besides slices by row number",
)
_BINS = "bins at the positions where the aggregate changes, each with a partial state"
_BINS_COUNTED = "bins: two per record in (progress - range, newest + range]"
DEFINED = Evaluation(
    way=_BINS,
    because="between two bins the aggregate is the same, whatever windows come to lie there",
    keeps=Keeps.PARTIALS,
    counted=_BINS_COUNTED,
)
DEFINED_BY_RANK = Evaluation(
    way=f"{_BINS}; windows are counted off when progress passes",
    because="one late arrival would shift all ranks after it",
    keeps=Keeps.PARTIALS,
    counted=_BINS_COUNTED,
)
PAIRED = Evaluation(
    way="records in the shard of what is equal, each from an instant on",
    because="any record in reach may be the partner of one that is still to come",
    keeps=Keeps.RECORDS,
    counted="records that one still to come can reach",
)
NEWEST = Evaluation(
    way="records in the shard of what is equal, sorted by time; each left one looks its partner up",
    because="a later right record may be the newest of a left one that is still to come",
    keeps=Keeps.RECORDS,
    counted="left records that wait or may change, right ones in their reach, and one of each key",
)
PAIRED_IN_WINDOWS = Evaluation(
    way="records in the shard of what is equal, each with its first and last window; a window that "
    "ends pairs the records in it",
    because="any record of a window may be the partner of one that is still to come",
    keeps=Keeps.RECORDS,
    counted="records in windows that can still change",
)
WINDOWED = Evaluation(
    way="records wait until progress has passed them; then each probes the opposite window",
    because="policy windows depend on the order of the records, which progress decides",
    keeps=Keeps.RECORDS,
    counted="records between progress and the newest, and those in both windows",
)


ONE_BY_ONE = "records of operators and joins are kept one by one, in the order of their lanes"
"""Why lanes have their own stage where the order of records decides."""


def valued(kind: str) -> Evaluation:
    """Return the evaluation of a user's windows, which follow from values."""
    return Evaluation(
        way="slices, pre-aggregated in the lane; a closing window merges its slices",
        because=f"{kind} says which windows a value lies in, and where these end",
        keeps=Keeps.PARTIALS,
        counted="sets of windows that records share, as long as these can still change",
    )


def parted_by(what: str) -> Evaluation:
    """Return the evaluation of sessions.

    Args:
        what: what separates two sessions.
    """
    together = f"records of a key with less than a gap of {what} between them"
    return Evaluation(
        way="chains of records, pre-aggregated in the lane; the shard draws sessions through them",
        because=f"{together} are in one session for ever",
        keeps=Keeps.CHAINS,
        counted="sessions that a record can still reach, times the epochs of their late records",
    )
