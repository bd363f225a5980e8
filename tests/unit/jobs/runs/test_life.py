"""The states of a run, from facts: every combination has one, and none claims what is not so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.runs.life import (
    ALIVE,
    DEATHS_MAX,
    SILENT_DEATHS_MAX,
    Deaths,
    Facts,
    Order,
    State,
    life,
)

DRIVERS = [None, *sorted(ALIVE), "FINISHED", "FAILED", "ERROR", "KILLED", "UNKNOWN"]
words = st.sampled_from([None, "ValueError: no"])
deaths = st.builds(
    Deaths,
    error=st.integers(0, DEATHS_MAX),
    silent=st.integers(0, SILENT_DEATHS_MAX),
    outage=st.integers(0, 100),
    last=words,
)
facts = st.builds(
    Facts,
    driver=st.sampled_from(DRIVERS),
    failure=st.sampled_from([None, "the tables are gone"]),
    order=st.sampled_from([None, Order(), Order("r2")]),
    available_now=st.booleans(),
    begun=st.sampled_from([0, 1, 5]),
    well=st.booleans(),
    deaths=deaths,
    launches=st.integers(0, DEATHS_MAX + 1),
    last_words=words,
    lacks=st.sampled_from([None, "no worker has room"]),
)


@given(facts)
def test_every_run_has_one_state_and_who_acts_learns_why(known: Facts) -> None:
    found = life(known)
    assert found.state in State
    assert found == life(known)
    if found.state in (State.failed, State.waiting, State.restarting, State.superseded):
        assert found.why


@given(facts)
def test_running_is_what_works(known: Facts) -> None:
    """Never RUNNING for a job that cannot run: a driver that the master calls so may be dying."""
    if life(known).state is State.running:
        assert known.driver == "RUNNING"
        assert known.well
        assert known.failure is None
        assert known.order is None
        assert known.deaths.final is None


@given(facts)
def test_what_has_ended_has_no_living_driver_or_has_failed(known: Facts) -> None:
    found = life(known).state
    if known.driver in ALIVE:
        assert found not in (State.stopped, State.superseded, State.finished)
    else:
        assert found.ended
    assert found.ended == (found in ("failed", "stopped", "superseded", "finished"))


@given(facts)
def test_an_order_counts_more_than_all_else(known: Facts) -> None:
    ordered = life(replace(known, order=Order("r2")))
    assert ordered.state is (State.stopping if known.driver in ALIVE else State.superseded)
    stopped = life(replace(known, order=Order()))
    assert stopped.state is (State.stopping if known.driver in ALIVE else State.stopped)


@given(facts)
def test_a_reason_is_passed_on_as_it_is(known: Facts) -> None:
    found = life(replace(known, order=None, failure="the tables are gone"))
    assert found.state is State.failed
    assert found.why == "the tables are gone"


@given(facts, st.integers(DEATHS_MAX, 100))
def test_dying_again_and_again_is_a_failure_whatever_the_master_says(
    known: Facts, number: int
) -> None:
    died = Deaths(error=number, last="SchemaMismatchError: 4 vs 3")
    found = life(replace(known, driver="RUNNING", order=None, failure=None, begun=1, deaths=died))
    assert found.state is State.failed
    assert f"died {number} times" in str(found.why)
    assert "SchemaMismatchError: 4 vs 3" in str(found.why)


@pytest.mark.parametrize(
    ("known", "state", "why"),
    [
        (Facts("SUBMITTED", begun=0), State.submitted, "no worker has started its driver"),
        (Facts("SUBMITTED", begun=0, lacks="r1 has it"), State.waiting, "r1 has it"),
        (Facts("RUNNING", begun=0), State.submitted, "on its way to its first batch"),
        (Facts("RUNNING", begun=1), State.submitted, "on its way to its first batch"),
        (Facts("RUNNING", begun=1, batches=46), State.submitted, "batch 46, where it resumes"),
        (Facts("RUNNING", doing="its workers start"), State.submitted, "its workers start"),
        (Facts("RUNNING", begun=1, lacks="r1 has it"), State.waiting, "r1 has it"),
        (Facts("RUNNING", begun=1, well=True), State.running, None),
        (Facts("RUNNING", begun=1, well=True, lacks="r1 has it"), State.running, None),
        (Facts("SUBMITTED"), State.submitted, "no worker has started its driver"),
        (Facts("SUBMITTED", begun=1, well=True), State.submitted, "no worker has started"),
        (
            Facts("RUNNING", begun=2, deaths=Deaths(error=1, last="OSError: no")),
            State.restarting,
            "died 1 of 3 times without a batch, the last time of: OSError: no",
        ),
        (
            Facts("RUNNING", begun=2, deaths=Deaths(silent=4)),
            State.restarting,
            "was killed 4 of 10 times",
        ),
        (
            Facts("RUNNING", begun=20, deaths=Deaths(outage=19, last="BrokerError: away")),
            State.restarting,
            "died 19 times of something that is away",
        ),
        (
            Facts("RUNNING", begun=10, deaths=Deaths(silent=SILENT_DEATHS_MAX)),
            State.failed,
            "was killed 10 times",
        ),
        (Facts("RELAUNCHING", begun=1, well=True), State.restarting, "its worker was lost"),
        (
            Facts("RUNNING", begun=0, launches=2, last_words="ImportError: x"),
            State.restarting,
            "start 2 of 3: ImportError: x",
        ),
        (
            Facts("RUNNING", begun=0, launches=3, last_words="ImportError: x"),
            State.failed,
            "never came to our program: ImportError: x",
        ),
        (Facts("RUNNING", begun=0, launches=3), State.restarting, "start 3 of 10: the one before"),
        (Facts("RUNNING", begun=0, launches=10), State.failed, "was started 10 times and never"),
        (Facts("FINISHED", available_now=True), State.finished, None),
        (Facts("FINISHED"), State.failed, "was to run on"),
        (Facts("FAILED", last_words="OSError: no"), State.failed, "OSError: no"),
        (Facts("KILLED"), State.stopped, "not by a command of ours"),
        (Facts("UNKNOWN"), State.stopped, "`slackwater start` goes on"),
        (Facts(None, begun=1, well=True), State.stopped, "`slackwater start` goes on"),
        (Facts("RUNNING", order=Order(), well=True), State.stopping, "told to end"),
        (Facts("KILLED", order=Order("r2")), State.superseded, "run r2 has taken its place"),
        (Facts("KILLED", order=Order()), State.stopped, None),
    ],
)
def test_facts_and_what_they_come_to(known: Facts, state: State, why: str | None) -> None:
    found = life(known)
    assert found.state is state
    assert why is None if found.why is None else why is not None and why in found.why
