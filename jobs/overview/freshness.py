"""How far results are final, and whether that is late: by the lanes, and by the clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from croniter import croniter

from jobs.overview.lanes import Stand
from jobs.overview.light import DAY_S, MARGIN_S, spell_s
from jobs.overview.schema import Freshness
from windowing.model import Pipeline
from windowing.model.lengths import spell_instant
from windowing.model.progress import Slack
from windowing.model.query import Flow
from windowing.model.schedule import CONTINUOUS
from windowing.model.standing import is_timed

RECORDING_S: Final = DAY_S
"""A log whose furthest lane was more than this (and the bound) behind the clock at the last batch
is a recording: how old its results are says nothing."""


STILL_S: Final = 600.0
"""How long a job that has records to read may be without a batch, in seconds, at least."""


@dataclass(frozen=True)
class Fresh:
    """How far an output is final.

    Attributes:
        shown: the same for people.
        waits_for: the lane that is furthest back; None: none is behind, or that does not matter.
        lag_s: how far behind the furthest, in seconds of event time; None: without progress.
    """

    shown: Freshness
    waits_for: str | None = None
    lag_s: float | None = 0.0


def bound_s(pipeline: Pipeline, at: datetime) -> float:
    """Return the bound of freshness: slack, the period of the schedule, and an hour."""
    disorder = pipeline.source.disorder
    slack_s = disorder.slack_us / 1e6 if isinstance(disorder, Slack) else 0.0
    return slack_s + _period_s(pipeline.schedule, at) + MARGIN_S


def still_s(since: datetime, last_batch_us: int | None, batches: int, at: datetime) -> float | None:
    """Return for how long a run has committed no batch, in seconds; None: unknown.

    Args:
        since: when it was submitted.
        last_batch_us: when its last batch was written; None: unknown, if there are batches.
    """
    if batches and last_batch_us is None:
        return None
    last_us = max(since.timestamp() * 1e6, last_batch_us or 0)
    return max(0.0, at.timestamp() - last_us / 1e6)


def still_bound_s(pipeline: Pipeline, at: datetime, batch_ms: float | None) -> float:
    """Return how long a job may be without a batch while its topic has records, in seconds.

    Args:
        batch_ms: the time of its longer batches; None: unknown.
    """
    return _period_s(pipeline.schedule, at) + max(STILL_S, 3 * (batch_ms or 0) / 1000)


def _period_s(schedule: str, at: datetime) -> float:
    """Return the time between the firings of a schedule around an instant, in seconds."""
    if schedule == CONTINUOUS:
        return 0.0
    after: datetime = croniter(schedule, at).get_next(datetime)
    before: datetime = croniter(schedule, after).get_prev(datetime)
    return (after - before).total_seconds()


def freshness(stand: Stand, flow: Flow, at: datetime, last_batch_us: int | None) -> Fresh:
    """Return how far a query's output is final.

    Args:
        stand: how far the lanes are.
        last_batch_us: when the last batch was written; None: unknown.
    """
    if not is_timed(stand.pipeline.source, flow):
        return Fresh(_of_sentence("its windows are not closed by progress of event time"))
    if stand.all_ended:
        return Fresh(_of_sentence("all lanes have ended, so all its windows are final"))
    least, lane = stand.least_us, stand.last_lane
    if least is None:
        sentence = f"no window is final: lane {lane} has no progress yet"
        return Fresh(_of_sentence(sentence), lane, None)
    sentence = f"windows that end until {spell_instant(least)} are final on time"
    lag = stand.lag_s(lane) or 0.0
    if lag >= 1:
        sentence += f"; lane {lane} is {spell_s(lag)} behind the furthest lane"
    age_s = _age_s(stand, least, at, last_batch_us)
    shown = Freshness(final_until=spell_instant(least), age_s=age_s, sentence=sentence)
    return Fresh(shown, lane if lag else None, lag)


def _age_s(stand: Stand, least_us: int, at: datetime, last_batch_us: int | None) -> float | None:
    """Return how old the newest final results are, in seconds; None: the log is a recording."""
    furthest = stand.furthest_us
    if last_batch_us is None or furthest is None:
        return None
    if (last_batch_us - furthest) / 1e6 > RECORDING_S + bound_s(stand.pipeline, at):
        return None
    since = (at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() - least_us / 1e6
    return round(max(0.0, since), 3)


def _of_sentence(sentence: str) -> Freshness:
    return Freshness(final_until=None, age_s=None, sentence=sentence)
