"""A changed file: whether a run may continue with it is its fingerprint's word, and is said why."""

from __future__ import annotations

import copy
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from jobs.deployment.change import Change, Kind, compare
from jobs.deployment.decision import KnownRun, RequestRefusal, Wish, plan
from tests.unit.model.test_fingerprint import OTHER_MEANINGS, PIPELINE, changed
from windowing.model import Pipeline, parse_pipeline
from windowing.model.added_lanes import AddedLane
from windowing.model.file.versions import with_lanes

TEXT = """
name: p
source: {topic: s, partitions: 2, format: json, event_time: {field: ts, unit: us},
  fields: {k: int, v: int}, disorder: {slack: 2 minutes}}
late: {policy: update, every: 5 minutes}
retention: 1 hour
shards: 2
queries:
  a: {window: RANGE 10 minutes SLIDE 10 minutes WATTR ts, group_by: [k], aggregates: {n: count}}
sink: {table: t}
"""
A = ("queries", "a")
EDITS: dict[str, tuple[tuple[str, ...], Any, bool]] = {
    "another aggregate": ((*A, "aggregates", "s"), "sum(v)", False),
    "none": ((*A, "aggregates", "n"), None, True),
    "another window": ((*A, "window"), "RANGE 20 minutes SLIDE 10 minutes WATTR ts", False),
    "the window, spelled otherwise": ((*A, "window"), "RANGE 600 s SLIDE 600 s WATTR ts", True),
    "another key": ((*A, "group_by"), [], False),
    "another query": (
        ("queries", "b"),
        {"window": "SESSION 5 minutes WATTR ts", "aggregates": {"n": "count"}},
        False,
    ),
    "more shards": (("shards",), 3, False),
    "another slack": (("source", "disorder"), {"slack": "3 minutes"}, False),
    "the slack, spelled otherwise": (("source", "disorder"), {"slack": "120 s"}, True),
    "one more field": (("source", "fields", "w"), "int", False),
    "another retention": (("retention",), "2 hours", False),
    "compacted": (("source", "compacted"), True, True),
    "another table": (("sink",), {"table": "u"}, True),
    "another kind of sink": (("sink",), {"postgres": "t"}, True),
    "a schedule": (("schedule",), "@daily", True),
    "a check": (("quality",), [{"expect_column_values_to_not_be_null": {"column": "n"}}], True),
}
"""Edits of the file: where, what stands there then, and whether a run may continue."""


def edited(*edits: str) -> Pipeline:
    document = copy.deepcopy(yaml.safe_load(TEXT))
    for edit in edits:
        path, value, _ = EDITS[edit]
        inner = document
        for name in path[:-1]:
            inner = inner[name]
        if value is not None:
            inner[path[-1]] = value
    return parse_pipeline(yaml.safe_dump(document))


@given(st.lists(st.sampled_from([*EDITS]), unique_by=lambda edit: EDITS[edit][0], max_size=4))
def test_a_run_goes_on_iff_the_meaning_is_the_same(edits: list[str]) -> None:
    old, new = edited(), edited(*edits)
    change = compare(old, new)
    assert change.goes_on == (old.fingerprint == new.fingerprint)
    assert change.goes_on == all(EDITS[edit][2] for edit in edits)
    assert change.goes_on == (change.kind in (Kind.same, Kind.compatible))
    assert bool(change.effects) == (change.kind is Kind.compatible)
    for edit in edits:
        path, value, _ = EDITS[edit]
        said = any(sentence.startswith(".".join(path)) for sentence in change.sentences)
        assert said == (value is not None)


def test_a_difference_is_said_by_its_path() -> None:
    assert compare(edited(), edited("another aggregate", "more shards")) == Change(
        Kind.new_run, ("shards: was 2, now 3", "queries.a.aggregates.s: new, 'sum(v)'")
    )


def test_how_a_run_goes_on_is_said() -> None:
    change = compare(edited(), edited("another table", "a schedule", "compacted", "a check"))
    assert [effect.partition(":")[0] for effect in change.effects] == [
        "sink",
        "quality",
        "schedule",
        "compacted",
    ]
    assert "stay in the tables t" in change.effects[0]
    assert "a new run writes to the tables u" in change.effects[0]


def test_upkeep_is_airflows_affair() -> None:
    tended = parse_pipeline(edited().text + 'upkeep: {schedule: "@daily"}\n')
    change = compare(edited(), tended)
    assert change.kind is Kind.compatible
    assert change.effects == (
        "upkeep: Airflow goes by its schedule as soon as it has read the file",
    )


def test_a_version_of_the_sink_is_no_change_of_the_users() -> None:
    versioned = parse_pipeline(edited().text.replace("table: t", "table: t_v2"))
    assert compare(versioned, edited()) == Change(Kind.same)
    assert compare(edited(), versioned).kind is Kind.compatible


def test_two_pipelines_are_no_versions_of_one() -> None:
    other = parse_pipeline(TEXT.replace("name: p", "name: q"))
    with pytest.raises(ValueError, match="two pipelines"):
        compare(edited(), other)


def test_other_code_of_a_users_aggregate_is_another_meaning() -> None:
    """The copy of the file is the same: only what was noted shows it."""
    text = TEXT.replace("{n: count}", "{n: 'python:pipelines.swing:Swing(v)'}")
    pipeline = parse_pipeline(text)
    assert compare(pipeline, pipeline, pipeline.fingerprint).kind is Kind.same
    assert compare(pipeline, pipeline, None).kind is Kind.same
    change = compare(pipeline, pipeline, "another")
    assert change.kind is Kind.new_run
    assert change.sentences[0].startswith("queries.a.aggregates.n: its class has other code")


def test_other_code_of_a_users_operator_is_another_meaning() -> None:
    own = "{operator: 'python:tests.unit.model.user_operators:Swing', window: TUMBLING count(2), "
    queries = f"queries:\n  own: {own}late: {{policy: drop}}, outputs: {{swing: float}}}}\n"
    pipeline = parse_pipeline(TEXT.replace("queries:\n", queries))
    assert compare(pipeline, pipeline, pipeline.fingerprint).kind is Kind.same
    change = compare(pipeline, pipeline, "another")
    assert change.kind is Kind.new_run
    assert change.sentences[0].startswith("queries.own.operator: its class has other code")


def test_a_run_that_was_begun_with_the_same_facts_goes_on() -> None:
    """Also where lanes have joined it since."""
    old = edited()
    first = old.fingerprint
    assert compare(old, old, first).kind is Kind.same
    joined = AddedLane(old.source.topic, old.source.partitions, old.source.partitions, ())
    grown = with_lanes(old, [joined])
    assert compare(grown, grown, first).kind is Kind.same
    assert compare(edited("more shards"), edited("more shards"), first).kind is Kind.new_run


def added(window: str, text: str = TEXT, **more: Any) -> Pipeline:
    document = yaml.safe_load(text)
    document["queries"]["b"] = {"window": window, "aggregates": {"n": "count"}, **more}
    return parse_pipeline(yaml.safe_dump(document))


LATER = "RANGE 1 hour SLIDE 10 minutes WATTR ts ORIGIN 2030-01-01"


def test_a_query_from_now_on_is_added() -> None:
    old, new = edited(), added(LATER)
    change = compare(old, new, old.fingerprint)
    assert (change.kind, change.goes_on, change.queries.added) == (Kind.other_queries, True, ("b",))
    assert change.effects[0].startswith("queries.b: added from its ORIGIN on")
    other_table = added(LATER, TEXT.replace("table: t", "table: u"))
    assert [one.partition(":")[0] for one in compare(old, other_table).effects] == [
        "queries.b",
        "sink",
    ]
    assert compare(new, old).kind is Kind.new_run
    assert compare(old, new, "another").kind is Kind.new_run


def test_a_query_of_the_run_may_end() -> None:
    old, document = edited(), yaml.safe_load(edited().text)
    document["queries"]["a"]["until"] = "2030-01-01"
    ends = parse_pipeline(yaml.safe_dump(document))
    change = compare(old, ends, old.fingerprint)
    assert (change.kind, change.queries.ended) == (Kind.other_queries, ("a",))
    assert change.effects == ("queries.a: its last window ends by its until; its table stays",)
    # What has ended does not begin again, nor end at another time.
    document["queries"]["a"]["until"] = "2031-01-01"
    assert compare(ends, parse_pipeline(yaml.safe_dump(document))).kind is Kind.new_run
    assert compare(ends, old).kind is Kind.new_run


def test_a_query_is_added_to_a_run_that_lanes_have_joined() -> None:
    old = edited()
    joined = AddedLane(old.source.topic, old.source.partitions, old.source.partitions, ())
    grown = with_lanes(added(LATER), (joined,))
    assert compare(with_lanes(old, (joined,)), grown).kind is Kind.other_queries
    assert compare(old, grown).kind is Kind.new_run


@pytest.mark.parametrize(
    "window", ["SESSION 5 minutes WATTR ts", "RANGE 1 hour SLIDE 1 hour WATTR ts"]
)
def test_why_a_query_cannot_be_added_is_said(window: str) -> None:
    change = compare(edited(), added(window))
    assert change.kind is Kind.new_run
    assert change.sentences[-1].startswith("queries.b: it cannot be added to a run: ")


@pytest.mark.parametrize("edit", [edit for edit, (*_, goes_on) in EDITS.items() if not goes_on])
def test_a_query_is_added_alone(edit: str) -> None:
    path, *_ = EDITS[edit]
    if path != ("queries", "b"):
        assert compare(edited(), added(LATER, edited(edit).text)).kind is Kind.new_run


def paths(value: Any, path: str = "") -> set[str]:
    """Every path of a document, inner ones too."""
    if not isinstance(value, dict):
        return {path}
    inner = (paths(one, f"{path}.{key}" if path else str(key)) for key, one in value.items())
    return {path}.union(*inner)


@pytest.mark.parametrize("alive", [False, True])
@pytest.mark.parametrize("edits", OTHER_MEANINGS)
def test_a_change_of_meaning_is_refused(edits: list[tuple[str, str]], *, alive: bool) -> None:
    old, new = changed(), changed(*edits)
    change = compare(old, new)
    assert change.kind is Kind.new_run
    with pytest.raises(RequestRefusal) as refused:
        plan(Wish(Path("p.yml"), "p", run="r1"), {"r1": KnownRun(change, alive=alive)}, "r1")
    first, *others = str(refused.value).splitlines()
    assert "r1" in first
    known = paths(yaml.safe_load(PIPELINE)) | paths(yaml.safe_load(new.text))
    named = [line.strip() for line in others[: others.index(next(filter(_is_end, others)))]]
    assert named
    for line in named:
        assert line.partition(": ")[0] in known
    commands = [shlex.split(line) for line in others if line.startswith("  slackwater ")]
    assert commands[0][1:5] == ["submit", "p.yml", "--run", "r2"]
    assert ["--from", "r1"] in [command[5:7] for command in commands]
    asked = {"--replace" in command or "--beside" in command for command in commands}
    assert asked == {alive}


def _is_end(line: str) -> bool:
    return line.startswith("nothing was touched")
