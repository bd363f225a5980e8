"""A log judged part by part, in little memory, gets the verdict that it gets as a whole."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.processes import ProcessLost
from chaos.readers.output import Output, dead_letter_identity, output_of, row_identity
from chaos.simulator.draw.wish import JOIN, POLICY_JOIN
from chaos.verdict.comparison import Comparison, compare, dead_letter_text, row_size
from chaos.verdict.in_parts import Means
from chaos.verdict.spool import Shelf, Spool
from chaos.verdict.verify import verify, with_records
from tests.strategies import KINDS, OPERATORS, Case, Entry, cases, entry, join_cases
from windowing.model import Pipeline, parse_pipeline
from windowing.model.rows import dead_letter_line, row_line
from windowing.semantics import Outcome, evaluate

LITTLE = Means(memory_bytes=1)
ANY = st.one_of(
    st.sampled_from((*KINDS, OPERATORS)).flatmap(lambda kind: cases(kind=kind, records_max=120)),
    st.sampled_from((JOIN, POLICY_JOIN)).flatmap(lambda kind: join_cases(kind=kind)),
)
DEFECTS = ("none", "lost", "twice", "changed", "a record lost")


def spoilt(
    pipeline: Pipeline, log: Sequence[Entry], whole: Outcome, defect: str, at: int
) -> Output:
    """Return the right output, or one with a defect."""
    if defect == "a record lost":
        left = [one for number, one in enumerate(log) if number != at % len(log)] if log else []
        whole = evaluate(pipeline, left)
    output = output_of(whole.rows, whole.dead, "spoilt")
    rows = list(output.rows)
    if rows and defect in ("lost", "twice", "changed"):
        identity, line = rows.pop(at % len(rows))
        changed = json.dumps({**json.loads(line), "records": 99})
        rows += {"lost": [], "twice": [(identity, line)] * 2, "changed": [(identity, changed)]}[
            defect
        ]
    return Output(rows, output.dead, None, ordered=False, name="spoilt")


def as_a_whole(outcome: Outcome, output: Output) -> tuple[Comparison, Comparison]:
    """Compare an output with the definition's result, both in memory."""
    rows = [(row_identity(row), row_line(row)) for row in outcome.rows]
    dead = [(dead_letter_identity(one), dead_letter_line(one)) for one in outcome.dead]
    return (
        compare(rows, list(output.rows), row_size),
        compare(dead, list(output.dead), dead_letter_text),
    )


@given(case=ANY, defect=st.sampled_from(DEFECTS), at=st.integers(0, 1000))
def test_parts_find_what_the_whole_does(case: Case, defect: str, at: int) -> None:
    pipeline, log = parse_pipeline(case.pipeline), [entry(event) for event in case.events]
    whole = evaluate(pipeline, log)
    output = spoilt(pipeline, log, whole, defect, at)
    verdict = verify(pipeline, log, output, LITTLE)
    assert (verdict.rows, verdict.dead) == as_a_whole(whole, output)
    assert {part.query: part.expected for part in verdict.conservation} == whole.counts
    assert verdict == verify(pipeline, log, output)
    assert with_records(verdict, pipeline, log, LITTLE) == with_records(verdict, pipeline, log)


PIPELINE_TEXT = """
name: p
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {k: int}
  disorder: ordered
queries:
  slides:
    window: RANGE 50 us SLIDE 10 us WATTR ts
    group_by: [k]
    aggregates: {n: count}
  all:
    window: RANGE 20 us SLIDE 20 us WATTR ts
    aggregates: {n: count}
"""
PIPELINE = parse_pipeline(PIPELINE_TEXT)


def test_processes_share_the_parts() -> None:
    log = [
        Entry("s", at % 2, at, json.dumps({"ts": at, "k": at % 7}).encode(), None, None)
        for at in range(2000)
    ]
    whole = evaluate(PIPELINE, log)
    output = output_of(whole.rows[1:], whole.dead, "one row short")
    found = verify(PIPELINE, log, output, Means(memory_bytes=1, jobs=3))
    assert found == verify(PIPELINE, log, output)
    assert found.rows.totals == (1, 0, 0)


class Killer:
    """An aggregate that ends its process, as the kernel does when memory runs out."""

    returns = "int"

    def init(self) -> int:
        return 0

    def update(self, state: int, value: int) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return state + value

    def merge(self, one: int, other: int) -> int:
        return one + other

    def result(self, state: int) -> int:
        return state


def test_a_killed_process_is_an_error() -> None:
    killing = PIPELINE_TEXT.replace("{n: count}", f"{{n: python:{__name__}:Killer(k)}}", 1)
    log = [
        Entry("s", at % 2, at, json.dumps({"ts": at, "k": at % 7}).encode(), None, None)
        for at in range(200)
    ]
    nothing = output_of([], [], "nothing")
    with pytest.raises(ProcessLost, match="less --memory or fewer --jobs"):
        verify(parse_pipeline(killing), log, nothing, Means(memory_bytes=1, jobs=2))


@pytest.mark.parametrize(
    "broken",
    [
        {"window_id": "1"},
        {"window_id": 10**400},
        {"key": [[1]]},
        {"key": [10**400]},
        {"key": [True]},
        {"key": {"k": 1}},
        {"key": 1.5},
        {"query": ["slides"]},
        {"revision": None},
    ],
)
def test_the_records_of_a_broken_row(broken: dict[str, Any]) -> None:
    log = [Entry("s", 0, at, json.dumps({"ts": at, "k": 1}).encode(), None, None) for at in (1, 9)]
    fields = {"query": "slides", "window_id": 0, "key": [1], "pane": "full", "revision": 0}
    row = {**fields, "records": 0, **broken}
    identity = tuple(json.dumps(row[name]) for name in fields)
    output = Output([(identity, json.dumps(row))], [], None, ordered=False, name="broken")
    verdict = with_records(verify(PIPELINE, log, output), PIPELINE, log)
    assert verdict.rows.totals[2] == 1
    assert verdict.records == ("  its records by the definition: none, there is no such row",)


@given(
    values=st.lists(st.tuples(st.integers(0, 3), st.text(max_size=3))), values_max=st.integers(1, 9)
)
def test_spools_keep_every_value_in_order(values: list[tuple[int, str]], values_max: int) -> None:
    with Shelf(values_max) as shelf:
        spools = [Spool[str](shelf) for _ in range(4)]
        for number, text in values:
            spools[number].append(text)
        for number, spool in enumerate(spools):
            assert list(spool) == [text for own, text in values if own == number]
            assert len(spool) == len(list(spool))


@given(count=st.integers(0, 40), values_max=st.integers(1, 9))
def test_a_spool_is_divided_while_its_end_is_written(count: int, values_max: int) -> None:
    with Shelf(values_max) as shelf:
        whole, parts = Spool[int](shelf), [Spool[int](shelf) for _ in range(3)]
        for number in range(count):
            whole.append(number)
        for number in whole:
            parts[number % 3].append(number)
        for at, part in enumerate(parts):
            assert list(part) == list(range(at, count, 3))


def test_files_are_gone_afterwards(tmp_path: Path) -> None:
    with Shelf(2, tmp_path) as shelf:
        spool, dropped = Spool[int](shelf), Spool[int](shelf)
        for number in range(10):
            spool.append(number)
            dropped.append(number)
        assert len(list(tmp_path.glob("*/*"))) == 2
        dropped.drop()
        assert not list(dropped)
        assert len(list(tmp_path.glob("*/*"))) == 1
    assert not list(tmp_path.iterdir())
