"""Generators: what a lane's records promise about later ones, a function for each kind.

A generator is asked after every record of its lane and gives a bound, or None where it promises
nothing. The lane's progress is the running maximum of the bounds, so a bound may fall again.

Source: Li et al., SIGMOD 2005, section 5; Srivastava and Widom, PODS 2004 (heartbeats).
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Mapping
from functools import partial

from windowing.model.progress.disorder import (
    Adaptive,
    Disorder,
    Heartbeat,
    OrderedPer,
    Slack,
    SlackRows,
)
from windowing.model.rows import Scalar
from windowing.semantics.controls import Observation, reached

Fields = Mapping[str, Scalar]
Generator = Callable[[int, Fields], int | None]
"""From a record's time and fields to the bound after it."""


def generator(disorder: Disorder, lane: str) -> Generator:
    """The bounds that one lane's records give, by the kind of generator.

    Generators whose promises hold for one key alone (`OrderedPer` without members) or that stand
    in control records only (`Punctuation`) give none here.
    """
    if isinstance(disorder, Slack):
        return partial(_slack, disorder.slack_us)
    if isinstance(disorder, SlackRows):
        return partial(_slack_rows, disorder.rows, [])
    if isinstance(disorder, Heartbeat):
        return partial(_slack, own_slack_us(disorder, lane))
    if isinstance(disorder, OrderedPer) and disorder.members is not None:
        return partial(_members, disorder.attr, dict(disorder.members).get(lane, ()), {})
    if isinstance(disorder, Adaptive):
        return partial(_adaptive, disorder, [], [])
    return lambda _value, _fields: None


def own_slack_us(disorder: Heartbeat, lane: str) -> int:
    """How much older than a record a later one of its lane can be.

    The record left at ts - s or later by the true clock and took l or more; one that comes after it
    took at most L, and its clock is at most s slow.
    """
    of_lane = dict(disorder.sources)[lane]
    return of_lane.max_delay_us - of_lane.min_delay_us + 2 * of_lane.skew_us


def observed_bound(disorder: Heartbeat, lane: str, seen: Observation) -> int | None:
    """What a lane may conclude from a clock, and from records that arrived in any lane."""
    instant, of_lane = reached(disorder, seen), dict(disorder.sources)[lane]
    return None if instant is None else instant - of_lane.max_delay_us - of_lane.skew_us


def _slack(slack_us: int, value: int, _fields: Fields) -> int:
    return value - slack_us


def _slack_rows(rows: int, seen: list[int], value: int, _fields: Fields) -> int | None:
    """The (n+1)-th largest value seen: what a sorting buffer of n rows has put out by then."""
    insort(seen, value)
    del seen[: -(rows + 1)]  # those below the (n+1)-th largest never matter again
    return seen[0] if len(seen) > rows else None


def _members(
    attr: str,
    members: tuple[Scalar, ...],
    newest: dict[Scalar, int],
    value: int,
    fields: Fields,
) -> int | None:
    """The smallest of the declared sub-streams' newest (largest) times, once all were seen."""
    member = fields[attr]
    newest[member] = max(value, newest.get(member, value))
    if not members or not all(member in newest for member in members):
        return None
    return min(newest[member] for member in members)


def _adaptive(
    disorder: Adaptive, times: list[int], lags: list[int], value: int, _fields: Fields
) -> int:
    """`ts - K`, K the smallest lag that at most the target share of the last lags exceed."""
    times[:] = [max([value, *times])]
    lags[:] = [*lags, times[0] - value][-disorder.over_rows :]
    ordered = sorted(lags)
    allowed = disorder.late * len(lags)
    slack_us = next(lag for lag in ordered if len(lags) - bisect_right(ordered, lag) <= allowed)
    return value - slack_us
