"""Another rule for control records for a run that there is: what continues, and what does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from jobs.checkpoints.conversion import _check_refused, change_file
from jobs.deployment.believing import believing_changes, forget_queries
from jobs.deployment.change import Kind, compare
from jobs.runs.folder import Run, read_run, write_note
from windowing.model import Pipeline, parse_pipeline
from windowing.model.file.changes import Copy, as_written, changed, parse_change, with_control
from windowing.model.run_errors import CheckpointMismatch

TEXT = """
name: p
source: {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us},
  fields: {}, disorder: ordered, control: CONTROL}
queries: {w: {window: RANGE 10 us SLIDE 10 us WATTR ts, aggregates: {n: count}}}
"""
NEW = {"window": "RANGE 10 us SLIDE 10 us WATTR ts", "aggregates": {"n": "count"}, "from": 9}
CHANGE = parse_change({"queries": {"add": {"new": NEW}}})


def ruled(control: str) -> Pipeline:
    return parse_pipeline(TEXT.replace("CONTROL", control))


def grown(pipeline: Pipeline) -> Pipeline:
    """The pipeline with a query that its log has added."""
    assert CHANGE is not None
    after = changed(pipeline, Copy("s/0", 5, CHANGE))
    assert not isinstance(after, str)
    return after


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run that has no batch yet."""
    folder = tmp_path / "r1"
    (folder / "checkpoint").mkdir(parents=True)
    found = Run("p", "r1", "", folder, folder / "checkpoint", tmp_path / "t", folder / "p.yml")
    found.file.write_text(ruled("bounds").text)
    write_note(found)
    return found


@pytest.mark.parametrize(
    ("before", "after", "goes_on"),
    [
        ("none", "bounds", True),
        ("bounds", "all", True),
        ("{key: A}", "bounds", True),
        ("{believe: all, queries: 5}", "{believe: all, queries: 6}", True),
        ("all", "bounds", True),  # its log has changed nothing
        ("bounds", "none", False),
        ("bounds", "{key: A}", False),
        ("{key: A}", "{key: B}", False),
        ("{believe: all, queries: 6}", "{believe: all, queries: 5}", False),
    ],
)
def test_a_run_goes_on_with_a_rule_that_believes_as_much(
    before: str, after: str, *, goes_on: bool
) -> None:
    change = compare(ruled(before), ruled(after))
    assert (change.kind is Kind.other_queries) == goes_on
    assert change.goes_on == goes_on
    assert any("source.control" in said for said in (*change.sentences, *change.effects))


def test_a_run_whose_log_has_changed_it_believes_changes() -> None:
    change = compare(grown(ruled("all")), with_control(grown(ruled("all")), ruled("bounds")))
    assert change.kind is Kind.new_run
    assert any("would not believe records" in said for said in change.sentences)


def test_a_rule_becomes_all_and_keeps_what_else_it_says() -> None:
    found = believing_changes(ruled("{believe: none, queries: 7, key: A}")).source.control
    assert (found.believe, found.queries, found.key) == ("all", 7, "A")
    assert believing_changes(ruled("bounds")).source.control.believe == "all"


def test_a_run_without_a_batch_takes_another_file(run: Run) -> None:
    change_file(run, ruled("all"))
    found = read_run(run.folder)
    assert found.own_pipeline().source.control.believe == "all"
    assert found.fingerprint == ruled("all").fingerprint


def test_a_run_forgets_names_and_refuses_what_its_log_says_of_them(run: Run) -> None:
    change_file(run, ruled("all"))
    forget_queries(run, ["new"])
    own = read_run(run.folder).own_pipeline()
    assert own.forgotten == ("new",)
    assert CHANGE is not None
    assert changed(own, Copy("s/0", 5, CHANGE)) == "not_allowed"
    assert own.fingerprint != ruled("all").fingerprint == as_written(own).fingerprint


@pytest.mark.parametrize(
    ("after", "reason", "refuses"),
    [
        ("all", "not_allowed", True),
        ("all", "malformed", False),
        ("none", "malformed", True),
        ("none", "change_too_late", True),
        ("none", "late", False),
        ("bounds", "not_allowed", False),  # the same rule
    ],
)
def test_what_was_refused_by_a_rule_may_have_been_believed_by_another(
    run: Run, after: str, reason: str, *, refuses: bool
) -> None:
    letter = {"run": "r1", "source": "s", "partition": 0, "offset": 7, "query": None}
    dead = pl.DataFrame([{**letter, "reason": reason}], schema_overrides={"query": pl.String})
    dead.write_delta(str(run.table / "dead_letters"))
    metrics = pl.DataFrame({"run": ["r1"], "query": ["w"], "read": [9]})
    metrics.write_delta(str(run.table / "metrics"))
    if not refuses:
        _check_refused(run, ruled("bounds"), ruled(after))
        return
    with pytest.raises(CheckpointMismatch, match=r"1 records .* s/0 offset 7 .*as a new run"):
        _check_refused(run, ruled("bounds"), ruled(after))


def test_where_nobody_can_tell_what_was_refused_a_new_run_is_asked_for(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.checkpoints.conversion.letters_of", lambda *_: None)
    with pytest.raises(CheckpointMismatch, match="whether it has refused control records is not"):
        _check_refused(replace(run, run="r2"), ruled("bounds"), ruled("all"))
