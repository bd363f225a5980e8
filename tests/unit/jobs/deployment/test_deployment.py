"""What `submit` does with a file, of all that there may be: nobody's job is ended unasked."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.deployment.change import Change, Kind
from jobs.deployment.decision import KnownRun, Plan, RequestRefusal, RunAction, Wish, plan
from windowing.model.file.versions import QueryChange

SAME = Change(Kind.same)
OTHER = Change(Kind.new_run, ("queries.a.aggregates.s: new, 'sum(v)'",))
COMPATIBLE = Change(Kind.compatible, ("schedule: was …",), ("schedule: Airflow goes by …",))
FILE = Path("my pipelines/p.yml")


def wish(
    run: str | None = None,
    origin: str | None = None,
    *,
    beside: bool = False,
    replace: bool = False,
) -> Wish:
    return Wish(FILE, "p", run, origin, beside=beside, replace=replace)


def commands(refused: RequestRefusal) -> list[list[str]]:
    """The ways out that are named."""
    lines = [line.strip() for line in str(refused).splitlines()]
    return [shlex.split(line) for line in lines if line.startswith("slackwater ")]


def wished(command: list[str]) -> Wish:
    """What a named way out asks for."""
    assert command[:4] == ["slackwater", "submit", str(FILE), "--run"]
    run, rest = command[4], command[5:]
    origin = rest[rest.index("--from") + 1] if "--from" in rest else None
    return wish(run, origin, beside="--beside" in rest, replace="--replace" in rest)


def test_a_first_run_is_begun() -> None:
    assert plan(wish("mine"), {}, None).step is RunAction.begin
    assert plan(wish(), {}, None).run == "r1"
    assert not plan(wish(beside=True), {}, None).beside


def test_a_living_run_is_attached_to_and_nothing_written() -> None:
    known = {"r1": KnownRun(SAME, alive=True)}
    for run in (None, "r1"):
        found = plan(wish(run), known, "r1")
        assert (found.step, found.run, found.ends) == (RunAction.attach, "r1", ())
        assert not found.takes_file


def test_a_compatible_file_is_taken() -> None:
    """L8: `quality` goes by the run's own copy."""
    for alive, step in ((True, RunAction.attach), (False, RunAction.go_on)):
        found = plan(wish(), {"r1": KnownRun(COMPATIBLE, alive=alive)}, "r1")
        assert (found.step, found.takes_file) == (step, True)
        assert COMPATIBLE.effects[0] in found.said


def test_an_edited_file_is_refused_on_a_living_run_with_all_ways_out() -> None:
    """L2: it was said 0, and the next restart of the driver failed."""
    known = {"r1": KnownRun(OTHER, alive=True)}
    for run in (None, "r1"):
        with pytest.raises(RequestRefusal) as caught:
            plan(wish(run), known, "r1")
        assert caught.value.exit_code == 2
        assert OTHER.sentences[0] in str(caught.value)
        ways = [plan(wished(command), known, "r1") for command in commands(caught.value)]
        assert [(way.run, way.ends, way.beside) for way in ways] == [
            ("r2", ("r1",), False),
            ("r2", ("r1",), False),
            ("r2", ("r1",), False),
            ("r2", (), True),
        ]


def test_another_run_does_not_end_a_living_job_unasked() -> None:
    """L3: it did so at once, and said it nowhere."""
    known = {"old": KnownRun(OTHER, alive=True), "older": KnownRun(SAME, alive=False)}
    for run in ("new", "older"):
        with pytest.raises(
            RequestRefusal, match="run old of pipeline p has a job that lives"
        ) as caught:
            plan(wish(run), known, "old")
        replaced, *beside = [plan(wished(way), known, "old") for way in commands(caught.value)]
        assert replaced.ends == ("old",)
        assert "the job of run old is ended first" in replaced.said[-1]
        assert [way.beside for way in beside] == ([True] if run == "new" else [])


def test_without_a_name_a_changed_file_gets_a_fresh_one() -> None:
    known = {"r7": KnownRun(OTHER, alive=True), "r12x": KnownRun(OTHER, alive=False)}
    assert plan(wish(beside=True), known, "r7").run == "r8"
    assert plan(wish(replace=True), known, "r7").ends == ("r7",)


def test_what_has_begun_cannot_begin_elsewhere() -> None:
    with pytest.raises(RequestRefusal, match="--from is for a new one"):
        plan(wish("r1", "r0"), {"r1": KnownRun(SAME, alive=False)}, "r1")


def test_what_worked_beside_goes_on_beside() -> None:
    known = {"r1": KnownRun(OTHER, alive=True), "r2": KnownRun(SAME, alive=False, beside=True)}
    found = plan(wish("r2"), known, "r1")
    assert (found.step, found.ends, found.beside) == (RunAction.go_on, (), True)


@pytest.mark.parametrize("of", [wish(), wish("r1"), wish("r1", replace=True)])
def test_a_live_run_whose_job_is_dead_goes_on_while_a_shadow_lives(of: Wish) -> None:
    known = {"r1": KnownRun(SAME, alive=False), "r2": KnownRun(OTHER, alive=True, beside=True)}
    found = plan(of, known, "r1")
    assert (found.step, found.run, found.ends) == (RunAction.go_on, "r1", ())
    assert not found.beside


RUNS = st.dictionaries(
    st.sampled_from(["r1", "r2", "x"]),
    st.builds(
        KnownRun,
        st.sampled_from([SAME, OTHER, COMPATIBLE]),
        alive=st.booleans(),
        beside=st.booleans(),
    ),
)
WISHES = st.builds(
    wish,
    st.sampled_from([None, "r1", "r2", "x", "new"]),
    st.sampled_from([None, "r1", "2013-01-02T00:00Z"]),
    beside=st.booleans(),
    replace=st.booleans(),
)


@given(RUNS, WISHES, st.data())
def test_no_plan_mixes_meanings_or_ends_what_nobody_named(
    known: dict[str, KnownRun], of: Wish, data: st.DataObject
) -> None:
    live = data.draw(st.sampled_from([*known])) if known else None
    try:
        found: Plan = plan(of, known, live)
    except RequestRefusal as refused:
        ways = commands(refused)
        assert ways or of.origin is not None
        for way in ways:  # each is complete: it does what it says, and is not refused again
            plan(wished(way), known, live)
        return
    assert (found.run in known) == (found.step is not RunAction.begin)
    if found.run in known:
        assert known[found.run].change.goes_on
        assert known[found.run].alive == (found.step is RunAction.attach)
    assert all(known[name].alive and name != found.run for name in found.ends)
    assert not found.ends or of.replace
    others = {
        name
        for name, one in known.items()
        if one.alive and name != found.run and not (found.run == live and one.beside)
    }
    assert found.beside or found.step is RunAction.attach or others == set(found.ends)
    assert all(f" {name}" in found.said[-1] for name in found.ends)


GROWN = Change(
    Kind.other_queries,
    effects=("queries.b: added from its ORIGIN on",),
    queries=QueryChange(("b",)),
)


def test_queries_are_added_to_a_run_without_a_job() -> None:
    found = plan(wish(), {"r1": KnownRun(GROWN, alive=False)}, "r1")
    assert (found.step, found.run, found.grows, found.takes_file) == (
        RunAction.go_on,
        "r1",
        True,
        False,
    )
    assert found.said[1:] == GROWN.effects


def test_queries_are_not_added_while_a_job_lives() -> None:
    with pytest.raises(
        RequestRefusal, match="adds b in run r1 of pipeline p, which has a job"
    ) as caught:
        plan(wish(), {"r1": KnownRun(GROWN, alive=True)}, "r1")
    stop, beside = str(caught.value).splitlines()[1::2]
    assert stop.split() == [
        *["slackwater", "stop", "'my", "pipelines/p.yml'", "--run", "r1", "&&"],
        *["slackwater", "submit", "'my", "pipelines/p.yml'", "--run", "r1"],
    ]
    assert shlex.split(beside)[-1] == "--beside"
