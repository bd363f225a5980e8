"""Comparison of two runs: where they must agree, and how differences are reported."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chaos.handover import agree, letters_lacking, shared
from chaos.readers.output import Output, output_of
from chaos.replay.production import same_windows
from chaos.verdict.contrast import Change
from tests.strategies import Entry, entry
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline, parse_pipeline
from windowing.runtime.local import run

PIPELINE = """
name: p
source: {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us},
  fields: {k: int, v: int}, disorder: {slack: 5 us}}
late: {policy: update, every: 5 us}
retention: 20 us
shards: 2
queries:
  a: {window: RANGE 10 us SLIDE 10 us WATTR ts, group_by: [k], aggregates: {n: count}}
  b: {window: SESSION 4 us WATTR ts, aggregates: {n: count, s: sum(v)}}
"""
EDITS = {
    "nothing": ("", ""),
    "an aggregate more": ("{n: count}}\n", "{n: count, m: max(v)}}\n"),
    "an aggregate of another meaning": ("s: sum(v)", "s: max(v)"),
    "a query less": ("  b: {window: SESSION 4 us WATTR ts, aggregates: {n: count, s: sum(v)}}", ""),
    "a query more": (
        "queries:\n",
        "queries:\n  c: {window: SESSION 1 us WATTR ts, aggregates: {n: count}}\n",
    ),
    "another gap": ("SESSION 4 us", "SESSION 3 us"),
    "another key": ("group_by: [k], ", ""),
    "another slack": ("slack: 5 us", "slack: 6 us"),
    "more shards": ("shards: 2", "shards: 3"),
    "its own lateness": ("aggregates: {n: count}", "late: {policy: drop}, aggregates: {n: count}"),
}
_EXAMPLES = max(settings.default.max_examples // 4, 3) if settings.default else 3
RECORDS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 2), st.integers(-5, 5)), max_size=25
)


def edited(*edits: str) -> Pipeline:
    text = PIPELINE
    for edit in edits:
        text = text.replace(*EDITS[edit]) if EDITS[edit][0] else text
    return parse_pipeline(text)


def log_of(records: list[tuple[int, int, int]], first: int = 0) -> list[Entry]:
    return [
        entry(
            {"source": "s", "partition": 0, "offset": offset}
            | {"value": {"ts": ts, "k": k, "v": v} if v > -5 else {"ts": ts, "k": "bad", "v": v}}
        )
        for offset, (ts, k, v) in enumerate(records)
        if offset >= first
    ]


def written(pipeline: Pipeline, log: list[Entry]) -> Output:
    result = run(pipeline, batches(log, 3, pipeline))
    return output_of(result.rows, result.dead_letters, pipeline.name)


def window_of(line: str) -> tuple[str, ...]:
    """The query, id and key of a row's window, as JSON; a session's extent changes as it grows."""
    row = json.loads(line)
    key = json.dumps(row["key"], separators=(",", ":"))
    return json.dumps(row["query"]), json.dumps(row["window_id"]), key


@settings(max_examples=_EXAMPLES)
@given(RECORDS, st.lists(st.sampled_from([*EDITS]), unique=True, max_size=3), st.integers(0, 25))
def test_what_must_agree_agrees_however_far_each_is(
    records: list[tuple[int, int, int]], edits: list[str], cut: int
) -> None:
    blue, green = edited(), edited(*edits)
    of, log = shared(blue, green), log_of(records)
    some, more = written(blue, log[:cut]), written(green, log)
    assert not agree(of, some, more, names=("blue", "green")).differing
    assert not letters_lacking(of, some, more)
    some, more = written(green, log[:cut]), written(blue, log)
    assert not agree(of, some, more, names=("green", "blue")).differing
    assert not letters_lacking(of, some, more)


@settings(max_examples=_EXAMPLES)
@given(RECORDS, st.integers(0, 12))
@example([(0, 0, 0), (7, 0, 0), (1, 0, 0), (10, 0, 0)], 0)  # a session that grows
def test_a_run_that_begins_later_agrees_in_windows_that_do_not_depend_on_it(
    records: list[tuple[int, int, int]], first: int
) -> None:
    blue = edited()
    of, log = shared(blue, blue), log_of(records)
    windows = same_windows(blue, log, {}, {0: first})  # type: ignore[arg-type]
    both = written(blue, log), written(blue, log_of(records, first))
    found = agree(of, *both, names=("blue", "green"), windows=windows)
    assert not found.differing
    compared = {window_of(line) for pair in found.pairs for line in pair.before}
    assert compared == windows


@pytest.mark.parametrize(
    ("edit", "aggregates", "said"),
    [
        ("nothing", {"a": {"n"}, "b": {"n", "s"}}, ""),
        ("more shards", {"a": {"n"}, "b": {"n", "s"}}, ""),
        ("an aggregate more", {"a": {"n"}, "b": {"n", "s"}}, "of query a not compared: m"),
        ("an aggregate of another meaning", {"a": {"n"}, "b": {"n"}}, "query b not compared: s"),
        ("a query less", {"a": {"n"}}, "query b is not compared: only one of the runs has it"),
        ("another gap", {"a": {"n"}}, "query b is not compared: its windows or its key"),
        ("another key", {"b": {"n", "s"}}, "query a is not compared: its windows or its key"),
        ("another slack", {}, "nothing is compared: the source is read otherwise"),
    ],
)
def test_what_is_not_compared_is_said(
    edit: str, aggregates: dict[str, set[str]], said: str
) -> None:
    of = shared(edited(), edited(edit))
    assert of.aggregates == aggregates
    assert said in " ".join(of.apart)


OPERATORS = """
  a: {operator: aggregate, window: TUMBLING count(2), aggregates: {n: count, s: sum(v)}}
  b: {operator: sort, window: SLIDING count(9), by: [v]}
  c: {operator: 'python:tests.unit.model.user_operators:Swing', window: TUMBLING count(2),
    outputs: {s: int}}
"""


@pytest.mark.parametrize(
    ("old", "new", "values", "said"),
    [
        ("", "", {"a": {"n", "s"}, "b": {"k", "v"}, "c": set()}, "of query c not compared: s"),
        ("sum(v)", "max(v)", {"a": {"n"}, "b": {"k", "v"}, "c": set()}, "of query a not comp"),
        ("TUMBLING count(2), agg", "TUMBLING count(3), agg", {"b": {"k", "v"}, "c": set()}, "its"),
        ("by: [v]", "by: [k]", {"a": {"n", "s"}, "c": set()}, "query b is not compared: its win"),
        ("by: [v]", "by: [v], order: lane", {"a": {"n", "s"}, "c": set()}, "query b is not com"),
    ],
)
def test_of_operators_the_same_values_of_the_same_windows_are_compared(
    old: str, new: str, values: dict[str, set[str]], said: str
) -> None:
    head = PIPELINE[: PIPELINE.index("late:")]
    blue, green = (
        parse_pipeline(f"{head}queries:{text}") for text in (OPERATORS, OPERATORS.replace(old, new))
    )
    of = shared(blue, green, same_code=False)
    assert of.aggregates == values
    assert said in " ".join(of.apart)


def test_what_follows_the_machines_clock_is_not_compared() -> None:
    head = PIPELINE[: PIPELINE.index("late:")]
    wall = parse_pipeline(f"{head}queries:{OPERATORS.replace('by: [v]', 'by: [v], clock: wall')}")
    of = shared(wall, wall)
    assert of.aggregates == {"a": {"n", "s"}, "c": {"s"}}
    assert of.apart == ("query b is not compared: it follows the machine's clock",)


RISING = [(ts, ts % 2, ts) for ts in range(40)]


def test_a_wrong_lacking_or_doubled_row_is_seen() -> None:
    blue = edited()
    of, sound = shared(blue, blue), written(blue, log_of(RISING))
    identity, line = sound.rows[0]
    wrong = json.dumps({**json.loads(line), "records": 99}, separators=(",", ":"))
    for rows, change in (
        ([(identity, wrong), *sound.rows[1:]], Change.changed),
        (sound.rows[1:], Change.gone),
        ([sound.rows[0], *sound.rows], Change.changed),
    ):
        found = agree(of, sound, replace(sound, rows=rows), names=("blue", "green"))
        assert [pair.change for pair in found.differing] == [change]


def test_a_lacking_dead_letter_is_seen() -> None:
    blue = edited()
    sound = written(blue, log_of([(1, 0, -5), *RISING]))
    assert len(sound.dead) == 1
    lacking = replace(sound, dead=[])
    assert letters_lacking(shared(blue, blue), sound, lacking) == [sound.dead[0][1]]
    # Which records have a null key depends on the keys of all queries.
    assert not letters_lacking(shared(blue, edited("another key")), sound, lacking)


def test_other_code_of_a_users_aggregate_is_not_compared() -> None:
    text = PIPELINE.replace("{n: count}}\n", "{n: count, u: 'python:pipelines.swing:Swing(v)'}}\n")
    pipeline = parse_pipeline(text)
    assert "u" in shared(pipeline, pipeline).aggregates["a"]
    assert "u" not in shared(pipeline, pipeline, same_code=False).aggregates["a"]
