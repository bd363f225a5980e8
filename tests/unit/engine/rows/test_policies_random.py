"""Random scenarios of policy windows and operators: rebuilt, stored elsewhere, in both profiles."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from conformance.drivers import spl_operators
from conformance.drivers.spl_windows import Drive, drive
from conformance.spl import Logged, OperatorCase, WindowCase
from tests.strategies.policy_scenarios import interval_cases, operator_cases, window_cases
from windowing.engine.rows.policies import Profile, Storage
from windowing.engine.rows.policies.events import Key

PROFILES = pytest.mark.parametrize("profile", [*Profile])


@PROFILES
@given(case=window_cases() | interval_cases())
def test_a_window_rebuilt_at_every_step_shows_the_same(case: WindowCase, profile: Profile) -> None:
    assert drive(case, profile, rebuild=True) == drive(case, profile)


@PROFILES
@given(data=st.data())
def test_an_operator_rebuilt_at_every_step_sends_the_same(
    data: st.DataObject, profile: Profile
) -> None:
    case: OperatorCase = data.draw(operator_cases(profile))
    rebuilt = spl_operators.drive(case, profile, rebuild=True)
    assert rebuilt == spl_operators.drive(case, profile)


class Pairs(MutableMapping[Key, Any]):
    """A mapping that is a list of pairs, in order of the keys' text."""

    def __init__(self) -> None:
        self._pairs: list[tuple[Key, Any]] = []

    def _at(self, key: Key) -> int:
        for number, (one, _) in enumerate(self._pairs):
            if one == key:
                return number
        raise KeyError(key)

    def __getitem__(self, key: Key) -> Any:
        return self._pairs[self._at(key)][1]

    def __setitem__(self, key: Key, value: Any) -> None:
        if key in self:
            del self[key]
        self._pairs.append((key, value))
        self._pairs.sort(key=lambda pair: str(pair[0]))

    def __delitem__(self, key: Key) -> None:
        del self._pairs[self._at(key)]

    def __iter__(self) -> Iterator[Key]:
        return iter([key for key, _ in self._pairs])

    def __len__(self) -> int:
        return len(self._pairs)


class Chain(list[Any]):
    """A sequence of tuples that is a plain list."""

    def popleft(self) -> Any:
        return self.pop(0)


@PROFILES
@given(case=window_cases())
def test_policies_do_not_see_other_containers(case: WindowCase, profile: Profile) -> None:
    storage = Storage(sequence=Chain, mapping=Pairs)
    events, final = Drive(case, profile, storage=storage).run()
    expected, expected_final = drive(case, profile)
    assert final == expected_final
    assert by_partition(events) == by_partition(expected)


def by_partition(events: Sequence[Logged]) -> dict[Any, list[Logged]]:
    """The order between partitions within a step is open; of summarizers, their numbers, too."""
    parts: dict[Any, list[Logged]] = {}
    for event in events:
        shown = {name: value for name, value in event.items() if name not in ("summarizer", "t")}
        parts.setdefault((event["step"], event.get("partition")), []).append(shown)
    return parts


@given(case=window_cases())
def test_where_no_difference_is_listed_the_profiles_agree(case: WindowCase) -> None:
    assume(not differing(case))
    paper, paper_final = drive(case, Profile.paper)
    assume(not self_evicted(case, paper))  # D14
    library, library_final = drive(case, Profile.osstreams)
    assert (library, library_final) == (paper, paper_final)


def differing(case: WindowCase) -> str:
    """The first difference of `spl.md` 0 that concerns a configuration; empty: none does."""
    evicts, triggers, partitions = (
        policy.kind if policy else ""
        for policy in (case.eviction, case.trigger, case.partition_eviction)
    )
    applies = {
        "D1": (evicts, triggers) == ("delta", "delta"),
        "D2": case.window == "sliding" and evicts == "time",
        "D4": case.window == "tumbling" and evicts == "time" and case.partitioned,
        "D5": triggers == "time" and case.partitioned,
        "D6": triggers == "time" and bool(case.handler_duration),
        "D7": bool(case.summarizer),
        "D8": partitions == "partitionAge",
    }
    return next((name for name, concerns in applies.items() if concerns), "")


def self_evicted(case: WindowCase, events: Sequence[Logged]) -> bool:
    """Whether the insertion of a tuple evicted its own partition."""
    return any(
        victim["partition"] == getattr(case.input[event["step"]], "partition", None)
        for event in events
        if event["event"] == "partitionEviction"
        for victim in event["partitions"]
    )
