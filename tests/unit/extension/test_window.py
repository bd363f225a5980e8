"""Windows of a user's class: run by definition, engine and simulator, and imported by no file."""

from __future__ import annotations

import random
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chaos.simulator.draw.wish import Wish
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.run import draw_case, run_case
from jobs.tools.recording import record
from jobs.tools.tune import Scale
from jobs.tools.tune_windows import TuneError
from tests.strategies import Entry
from windowing import RawRows, run
from windowing.engine.plan import plan_of
from windowing.engine.windows.classes import parts_of
from windowing.explain.pipeline import explain
from windowing.model import PipelineError, WindowError, parse_pipeline
from windowing.model.limits import EARLIEST, LATEST
from windowing.model.registry import PluginError
from windowing.model.windows.registry import window
from windowing.semantics import evaluate
from windowing.semantics.windows.classes import definition_of

TEXT = """\
name: p
source:
  topic: t
  partitions: 1
  format: json
  event_time: {field: ts, unit: iso}
  fields: {k: string}
  disorder: {slack: 1 day}
queries:
  monthly:
    window: {months: {ahead_h: 1}, wattr: ts}
    group_by: [k]
    aggregates: {n: count}
"""
LOG = ("2024-01-31T22:59", "2024-01-31T23:00", "2024-02-29T22:00", "2024-03-02T12:00")


def us(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


def records() -> RawRows:
    values = [f'{{"ts":"{ts}:00Z","k":"a"}}'.encode() for ts in LOG]
    nothing = [None] * len(values)
    return RawRows(
        offsets=[*range(len(values))], values=values, controls=nothing, append_us=nothing
    )


def rows_of(text: str) -> list[tuple[int, int, int, int]]:
    output = run(parse_pipeline(text), [{0: records()}])
    return [(r.window_id, r.window_start_us, r.window_end_us, r.records) for r in output.rows]


def test_nobody_knows_a_window_that_is_not_installed() -> None:
    with pytest.raises(PipelineError, match="unknown clause 'months'"):
        parse_pipeline(TEXT)


def test_reading_a_pipeline_imports_no_window(tidepool: Path) -> None:
    updating = TEXT.replace("aggregates", "late: {policy: update, every: 1 day}\n    aggregates")
    (query,) = parse_pipeline(updating + "    retention: 40 days\n    early: {records: 3}\n").flows
    assert (query.window.kind, query.window.attribute, query.key) == ("months", "ts", ("k",))
    assert "tidepool" not in sys.modules


def test_tune_weighs_the_other_queries_and_says_which_it_left_out(tidepool: Path) -> None:
    """B10: one query with a plug-in's window had the whole pipeline refused."""
    hourly = "  hourly: {window: RANGE 1 day SLIDE 1 day WATTR ts, aggregates: {n: count}}\n"
    pipeline = parse_pipeline(TEXT + hourly)
    log = [
        Entry("t", 0, offset, value, None, None) for offset, value in enumerate(records().values)
    ]
    scale = Scale(pipeline, record(pipeline, log), "event")
    assert scale.left_out == ("monthly",)
    assert scale.records == len(LOG)
    with pytest.raises(TuneError, match="query monthly has windows of a plug-in"):
        Scale(parse_pipeline(TEXT), record(parse_pipeline(TEXT), log), "event")


def test_months_by_hand(tidepool: Path) -> None:
    """January ends at 23:00 UTC where clocks are an hour ahead; March is still open."""
    january, february, march = map(us, ("2023-12-31T23:00", "2024-01-31T23:00", "2024-02-29T23:00"))
    assert sorted(rows_of(TEXT)) == [(648, january, february, 1), (649, february, march, 2)]


def test_engine_and_definition_number_alike(tidepool: Path) -> None:
    (query,) = (pipeline := parse_pipeline(TEXT)).flows
    lane, definition = parts_of(query.window).lane(query, pipeline), definition_of(query)
    rng = random.Random(5)
    values = [EARLIEST, LATEST - 1, 0, -1, *(rng.randrange(EARLIEST, LATEST) for _ in range(500))]
    first = lane._numbering.first(np.array(values)).tolist()
    for value, wid in zip(values, first, strict=True):
        assert [*definition.wids(value)] == [wid]
        assert definition.extent(wid) == lane._numbering.bounds(wid)


@pytest.mark.parametrize("number", range(5))
def test_the_simulator_draws_and_judges_it(tidepool: Path, number: int) -> None:
    parts = EngineParts(wish=Wish(classes=("months",)))
    case = draw_case(5, number, parts)
    assert "months:" in case.pipeline
    assert not run_case(case, parts).findings


def test_who_simulates_with_the_plug_in_has_its_windows(tidepool: Path) -> None:
    assert "months" in EngineParts().wish.classes


def test_its_own_clauses_and_code_are_part_of_the_fingerprint(tidepool: Path) -> None:
    own, other = parse_pipeline(TEXT), parse_pipeline(TEXT.replace("ahead_h: 1", "ahead_h: 2"))
    assert own.fingerprint == parse_pipeline(TEXT).fingerprint != other.fingerprint
    assert "months over ts, ahead_h 1" in "\n".join(explain(plan_of(own)))


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ("{months: {}}", "E_MISSING: months needs wattr"),
        ("{months: {}, wattr: tz}", "E_ATTR_UNKNOWN: tz names no field; known: k, ts"),
        ("{months: {}, wattr: k}", "E_ATTR_TYPE: k is text"),
        ("{months: {}, wattr: ts, slide: 2}", "E_SYNTAX: 'slide' does not go with months"),
        ("{months: 3, wattr: ts}", "E_SYNTAX: months: 3: give its clauses by name"),
        ("{months: {a: []}, wattr: ts}", r"E_SYNTAX: months: a: \[\]: a clause is a name"),
    ],
)
def test_a_mistake_in_the_file_is_said_when_it_is_read(
    tidepool: Path, window: str, said: str
) -> None:
    with pytest.raises(PipelineError, match=said):
        parse_pipeline(TEXT.replace("{months: {ahead_h: 1}, wattr: ts}", window))
    assert "tidepool" not in sys.modules


def test_a_mistake_that_only_the_class_knows_is_said_when_it_runs(tidepool: Path) -> None:
    with pytest.raises(WindowError, match="E_VALUE: window months: ahead_h 30: clocks are from"):
        rows_of(TEXT.replace("ahead_h: 1", "ahead_h: 30"))
    with pytest.raises(WindowError, match=r"E_VALUE: window months: .* unexpected keyword .*of"):
        rows_of(TEXT.replace("ahead_h: 1", "of: 30"))


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("method", ["last", "open_from"])
def test_a_numbering_that_raises_is_named_with_the_record(
    tidepool: Path, monkeypatch: pytest.MonkeyPatch, method: str, fused: bool
) -> None:
    pipeline = parse_pipeline(TEXT)
    rows_of(TEXT)  # imports the package
    months = sys.modules["tidepool.months"].MonthNumbering
    whole = getattr(months, method)

    def brittle(self: Any, numbers: np.ndarray) -> np.ndarray:
        if (numbers == us(LOG[2])).any():
            raise LookupError("no such month")
        return whole(self, numbers)

    monkeypatch.setattr(months, method, brittle)
    said = rf"t/0, offset 2: window months: \w+ failed for {us(LOG[2])}: LookupError: no such"
    with pytest.raises(PluginError, match=said):
        run(pipeline, [{0: records()}], fused=fused)


def test_a_definition_that_raises_is_named_with_the_record(
    tidepool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = parse_pipeline(TEXT)
    definition = type(definition_of(pipeline.flows[0]))
    whole = definition.wids

    def brittle(self: Any, value: int) -> range:
        if value == us(LOG[2]):
            raise LookupError("no such month")
        return whole(self, value)

    monkeypatch.setattr(definition, "wids", brittle)
    values = enumerate(records().values)
    log = [Entry("t", 0, offset, value, None, None) for offset, value in values]
    said = rf"t/0, offset 2: window months: wids failed for {us(LOG[2])}: LookupError: no such"
    with pytest.raises(PluginError, match=said):
        evaluate(pipeline, log)


def test_a_window_without_parts_cannot_run(tidepool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACKWATER_PLUGINS", '{"windows": {"moons": "tidepool.months:Moons"}}')
    (query,) = parse_pipeline(TEXT.replace("months", "moons")).flows
    with pytest.raises(PluginError, match=r"moons: no plug-in slackwater\.window_parts has"):
        parts_of(query.window)
    with pytest.raises(PluginError, match=r"moons: no plug-in slackwater\.window_definitions has"):
        definition_of(query)


def test_a_window_cannot_have_the_name_of_a_clause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACKWATER_PLUGINS", '{"windows": {"session": "tidepool.months:Months"}}')
    with pytest.raises(PipelineError, match="no window can be called 'session', as a clause is"):
        parse_pipeline(TEXT.replace("months: {ahead_h: 1}", "session: 30 minutes"))
    with pytest.raises(PluginError, match="no window can be called 'Gaps'"):
        window("Gaps")(object)
