"""Generators by definition: what a record promises about later ones, a function per kind.

After each record of its lane a generator returns a bound, or None for no promise. Bounds may
decrease: the lane's progress is their running maximum.

Source: Li et al., SIGMOD 2005, section 5; Srivastava and Widom, PODS 2004 (heartbeats).
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from windowing.model.progress import (
    Adaptive,
    Disorder,
    Heartbeat,
    OrderedPer,
    Punctuation,
    Slack,
    SlackRows,
    Unordered,
)
from windowing.model.registry import Registry
from windowing.model.rows import Scalar
from windowing.semantics.controls import Observation, reached

Fields = Mapping[str, Scalar]
Generator = Callable[[int, Fields], int | None]
"""A function from a record's time and fields to the bound after it."""

Definition = Callable[[Any, str], Generator]
"""A function from a generator's data and a lane's name to that lane's bounds."""

DEFINITIONS: Final = Registry[Definition]("generator_definition", "generator_definitions")
"""The definition of every generator, by its name."""

generator_definition: Final = DEFINITIONS.entry
"""The decorator of a function that is the definition of the generator of a name."""


def generator(disorder: Disorder, lane: str) -> Generator:
    """Return the function for one lane's bounds.

    Raises:
        PluginError: its plug-in cannot be imported, or rejects the settings.
    """
    return DEFINITIONS.required(disorder.name)(disorder.data, lane)


class HiddenStateError(ValueError):
    """A generator that does not show what it has kept of its lane."""

    exit_code = 2


def kept_by(found: Generator) -> list[Any]:
    """Return what a generator has kept of its lane's records, as JSON values.

    Raises:
        HiddenStateError: it is a plug-in's, which may keep anything.
    """
    return [
        [list(pair) for pair in one.items()] if isinstance(one, dict) else list(one)
        for one in _kept(found)
    ]


def give_back(found: Generator, kept: list[Any]) -> None:
    """Let a new generator continue with what `kept_by` returned of another one."""
    for own, values in zip(_kept(found), kept, strict=True):
        if isinstance(own, dict):
            own.update(tuple(pair) for pair in values)
        else:
            own[:] = values


def _kept(found: Generator) -> list[dict[Scalar, int] | list[int]]:
    if not isinstance(found, partial):
        msg = (
            f"the generator {getattr(found, '__qualname__', found)!r} of a plug-in may keep "
            "anything of its lane, so that no verification can go on from a point: verify the "
            "whole log"
        )
        raise HiddenStateError(msg)
    return [one for one in found.args if isinstance(one, dict | list)]


@generator_definition(Unordered.name)
@generator_definition(Punctuation.name)
def _nothing(data: Disorder, lane: str) -> Generator:
    """Promise nothing by data records; only control records carry bounds."""
    del data, lane
    return partial(_promise_nothing)


@generator_definition(Slack.name)
def _slack(data: Slack, lane: str) -> Generator:
    del lane
    return partial(_less, data.slack_us)


@generator_definition(SlackRows.name)
def _slack_rows(data: SlackRows, lane: str) -> Generator:
    del lane
    return partial(_let_go, data.rows, [])


@generator_definition(Heartbeat.name)
def _heartbeat(data: Heartbeat, lane: str) -> Generator:
    return partial(_less, own_slack_us(data, lane))


@generator_definition(OrderedPer.name)
def _ordered_per(data: OrderedPer, lane: str) -> Generator:
    if data.members is None:  # the promises are per key; the lane has none
        return _nothing(data, lane)
    return partial(_furthest_behind, data.attr, dict(data.members).get(lane, ()), {})


@generator_definition(Adaptive.name)
def _adaptive(data: Adaptive, lane: str) -> Generator:
    del lane
    return partial(_adapted, data, [], [])


def own_slack_us(disorder: Heartbeat, lane: str) -> int:
    """Return how much older than a record a later one of its lane can be.

    The record left at true time ts - s or later, and took at least l; a later one took at most L,
    and its clock is at most s slow.
    """
    of_lane = dict(disorder.sources)[lane]
    return of_lane.max_delay_us - of_lane.min_delay_us + 2 * of_lane.skew_us


def observed_bound(disorder: Heartbeat, lane: str, seen: Observation) -> int | None:
    """Return the bound from a clock reading and from records that arrived in any lane."""
    instant, of_lane = reached(disorder, seen), dict(disorder.sources)[lane]
    return None if instant is None else instant - of_lane.max_delay_us - of_lane.skew_us


def _promise_nothing(_value: int, _fields: Fields) -> None:
    return None


def _less(slack_us: int, value: int, _fields: Fields) -> int:
    return value - slack_us


def _let_go(rows: int, seen: list[int], value: int, _fields: Fields) -> int | None:
    """Return the (n+1)-th largest value seen: the last output of a sorting buffer of n rows."""
    insort(seen, value)
    del seen[: -(rows + 1)]  # smaller values never matter again
    return seen[0] if len(seen) > rows else None


def _furthest_behind(
    attr: str,
    members: tuple[Scalar, ...],
    newest: dict[Scalar, int],
    value: int,
    fields: Fields,
) -> int | None:
    """Return the smallest of the declared sub-streams' largest times, once all were seen."""
    member = fields[attr]
    newest[member] = max(value, newest.get(member, value))
    if not members or not all(member in newest for member in members):
        return None
    return min(newest[member] for member in members)


def _adapted(data: Adaptive, times: list[int], lags: list[int], value: int, _fields: Fields) -> int:
    """Return `ts - K`, K the smallest lag that at most the target share of the last lags exceed."""
    times[:] = [max([value, *times])]
    lags[:] = [*lags, times[0] - value][-data.over_rows :]
    ordered = sorted(lags)
    allowed = data.late * len(lags)
    slack_us = next(lag for lag in ordered if len(lags) - bisect_right(ordered, lag) <= allowed)
    return value - slack_us
