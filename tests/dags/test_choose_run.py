"""Which run a trigger means, without a DAG around it."""

from datetime import UTC, datetime

import pytest

from dags.operators.choose_run import Choice, OnChange, Wish, YoungerRunError, choices
from dags.operators.command import CommandError, CommandOutput
from dags.operators.job import Job, jobs_of, meant

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def job(run: str, state: str = "running", *, live: bool = True, hour: int = 11) -> Job:
    at = NOON.replace(hour=hour).isoformat()
    return Job(run=run, state=state, why=None, live=live, submitted_at=at)


def wish(**what) -> Wish:
    usual = {
        "named": None,
        "first": "first",
        "fresh": "fresh",
        "begin_at": None,
        "on_change": OnChange.refuse,
        "cleared": False,
        "since": NOON,
    }
    return Wish(**usual | what)


def test_the_first_run_is_new():
    assert choices(wish(), []) == [Choice("first")]
    assert choices(wish(begin_at="2026-01-01"), []) == [Choice("first", ("--from", "2026-01-01"))]


@pytest.mark.parametrize("state", ["running", "waiting", "restarting", "stopped", "failed"])
def test_without_a_name_the_live_run_goes_on(state):
    jobs = [job("new", "running", live=False, hour=12), job("old", state)]
    assert choices(wish(), jobs) == [Choice("old")]


def test_without_a_live_run_the_newest_goes_on():
    jobs = [job("old", "stopped", live=False, hour=9), job("new", "stopped", live=False, hour=10)]
    assert choices(wish(), jobs) == [Choice("new")]


@pytest.mark.parametrize(
    ("on_change", "option"), [("new_run", "--replace"), ("beside", "--beside")]
)
def test_only_if_the_file_does_not_go_on_a_new_run_is_begun_as_was_chosen(on_change, option):
    wanted = wish(on_change=OnChange(on_change), begin_at="old")
    ways = [Choice("old"), Choice("fresh", (option, "--from", "old"))]
    assert choices(wanted, [job("old")]) == ways


def test_a_named_run_ends_another_only_where_that_was_chosen():
    jobs = [job("old")]
    assert choices(wish(named="blue"), jobs) == [Choice("blue")]  # and is refused by the command
    replacing = wish(named="blue", on_change=OnChange.new_run)
    assert choices(replacing, jobs) == [Choice("blue", ("--replace",))]
    assert choices(wish(named="old", on_change=OnChange.new_run), jobs) == [Choice("old")]


@pytest.mark.parametrize("on_change", list(OnChange))
def test_a_cleared_dag_run_never_ends_a_younger_job(on_change):
    younger = job("younger", hour=13)
    cleared = wish(cleared=True, on_change=on_change)
    assert choices(cleared, [younger, job("old", "superseded", live=False)]) == [Choice("younger")]
    with pytest.raises(YoungerRunError, match="run younger was submitted at 2026-11-22T13:00"):
        choices(wish(cleared=True, on_change=on_change, named="old"), [younger])


def test_a_cleared_dag_run_may_still_end_an_older_job():
    wanted = wish(cleared=True, on_change=OnChange.new_run, named="blue")
    assert choices(wanted, [job("old", hour=11)]) == [Choice("blue", ("--replace",))]


@pytest.mark.parametrize(
    ("state", "why", "on_purpose", "dead"),
    [
        ("running", None, False, False),
        ("restarting", "died 1 of 3 times", False, False),
        ("stopping", "its driver has been told to end", False, False),
        ("stopped", None, True, False),
        ("stopped", "the cluster was stopped under it", False, True),
        ("superseded", "run b has taken its place", True, False),
        ("finished", None, True, False),
        ("failed", "disk full", False, True),
    ],
)
def test_what_has_ended_on_purpose_is_not_dead(state, why, on_purpose, dead):
    seen = Job(run="r", state=state, why=why, live=True, submitted_at=NOON.isoformat())
    assert (seen.on_purpose, seen.dead) == (on_purpose, dead)
    assert seen.ended is (on_purpose or dead)


def test_an_answer_that_is_none_is_said_to_be_none():
    with pytest.raises(CommandError, match="printed no run but 'oops'"):
        jobs_of(CommandOutput(("oops",), ()))
    assert jobs_of(CommandOutput((), ())) == []
    assert meant([]) is None
