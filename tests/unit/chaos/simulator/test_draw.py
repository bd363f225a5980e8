"""What is drawn: cases of every kind, early rows, and cases that were recorded."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaos.simulator import simulate as module
from chaos.simulator.case import record
from chaos.simulator.coverage import least_percent, too_rare
from chaos.simulator.draw.clock import draw_spelling
from chaos.simulator.history import SimulationHistory
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.run import draw_case
from chaos.simulator.simulate import SimulationReport, replay
from chaos.simulator.verdict.due import outcomes_of
from chaos.simulator.verdict.early import early, silent
from slackwater.main import app
from tests.unit.chaos.simulator.test_simulator import PIPELINE, data, lane
from windowing.engine.effects import MECHANISMS, Mechanism
from windowing.model import parse_pipeline
from windowing.model.rows import Row
from windowing.model.times import ISO
from windowing.semantics.times import read_iso

ENOUGH = Counter(dict.fromkeys(MECHANISMS, 40))


@pytest.mark.parametrize("ts_us", [0, -1, 500_000, 1_700_000_000_123_000, -86_400_000_001])
def test_an_iso_time_is_spelled_in_every_way_that_means_it(ts_us: int) -> None:
    rng = random.Random(1)
    drawn = {str(draw_spelling(rng, ts_us, ISO)) for _ in range(400)}
    assert {read_iso(text) for text in drawn} == {ts_us}
    zones = {re.sub(r".*[Tt ][\d:.]+", "", text) for text in drawn}
    assert {"", "Z"} < zones
    assert any(zone.startswith("-") for zone in zones)
    assert any(zone.startswith("+") for zone in zones)
    digits = {len(part) for text in drawn for part in re.findall(r"\.(\d+)", text)}
    needed = len(f"{ts_us % 1_000_000:06d}".rstrip("0"))
    assert {0, *range(max(needed, 1), 7)} <= digits | {0} <= {*range(8), 9, 12}


def test_control_records_name_instants_at_all_edges() -> None:
    """At the last legal claim, far beyond it, and long before all records."""
    found, all_ = set[object](), {"max", 2**63 - 1, 2 - 2**63}
    for number in range(600):
        if found == all_:
            break
        case = draw_case(5, number, EngineParts())
        ends = {part.event_time.end_us for part in parse_pipeline(case.pipeline).source.parts}
        controls = [event.get("control") for lane in case.lanes for event in lane]
        for control in controls:
            if isinstance(control, dict) and type(bound := control.get("bound")) is int:
                found |= {"max"} if bound in ends else set()
                found |= {bound} & {2**63 - 1, 2 - 2**63}
    assert found == all_


def test_what_never_took_effect_in_two_hundred_runs_is_too_rare() -> None:
    assert too_rare(Counter(), 200) == [*MECHANISMS]
    assert not too_rare(ENOUGH, 200)


@pytest.mark.parametrize(("one", "percent"), [("families", 5), ("fused plan", 20)])
def test_a_share_is_too_small_by_more_than_chance(one: Mechanism, percent: int) -> None:
    assert least_percent(one) == percent
    runs = 10_000
    assert too_rare(ENOUGH | Counter({one: runs}), 200) == []
    met = Counter(dict.fromkeys(MECHANISMS, runs))
    assert too_rare(met | Counter(), runs) == []
    met[one] = runs * percent // 100 - 10
    assert too_rare(met, runs) == []
    met[one] = runs * percent // 100 * 3 // 4
    assert too_rare(met, runs) == [one]


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (SimulationReport(200, mechanisms=ENOUGH, pairs=set()), 0),
        (SimulationReport(200, pairs=set()), 1),
        (SimulationReport(200, mechanisms=ENOUGH, planned=Counter(fault=1), pairs=set()), 1),
    ],
    ids=["all there", "a mechanism is missing", "a fault without effect"],
)
def test_the_command_fails_for_it(
    report: SimulationReport, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "simulate", lambda *_, **__: report)
    result = CliRunner().invoke(app, ["chaos", "simulate", "--complete", "--runs", "200"])
    assert result.exit_code == code
    assert report.complete == (code == 0)


@pytest.mark.parametrize("other", ["--pipeline", "--replay", "--guilty"])
def test_only_random_runs_of_the_engine_itself_can_be_complete(other: str) -> None:
    result = CliRunner().invoke(app, ["chaos", "simulate", "--complete", other, "x"])
    assert result.exit_code == 2
    assert "--complete judges random runs" in result.output


RECORDED = Path(__file__).parents[3] / "data" / "simulated"


@pytest.mark.parametrize("file", sorted(RECORDED.glob("*.json")), ids=lambda file: file.stem)
def test_a_case_that_once_failed_passes(file: Path) -> None:
    report = replay(file, EngineParts())
    assert report.ok, "\n".join(report.lines())


SPEC = parse_pipeline(PIPELINE.replace("shards:", "early: {records: 2}\nshards:"))
# Two records of an open window, one that changes nothing yet, one that makes it two more; its end.
LOG = [[record(one) for one in lane(data(1), data(2), data(3), data(4), data(11))]]
ENDS = [(2,), (3,), (4,), (5,)]


def right() -> SimulationHistory:
    history = SimulationHistory(ends=ENDS)
    history.early = {0: [shown(2, 1)], 2: [shown(4, 2)]}
    return history


def shown(records: int, number: int) -> Row:
    """An early row of the first window."""
    offsets = {"s/0": (0, records - 1)}
    return Row("q", 0, 0, 10, ("a",), "early", number, records, offsets, {"n": records})


def found(history: SimulationHistory) -> list[str]:
    return [*early(SPEC, LOG, history, outcomes_of(SPEC, LOG, ENDS))]


def test_the_right_rows_are_legal() -> None:
    assert not found(right())


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda rows: rows.pop(0), "no early row in batch 0"),
        (lambda rows: rows.update({1: [shown(2, 2)]}), "nothing new after 2"),
        (lambda rows: rows.update({1: [shown(3, 1)]}), "number 1 after 1"),
        (lambda rows: rows.update({2: [shown(3, 2)]}), "and right is"),
        (lambda rows: rows.update({2: [replace(shown(4, 2), values={"n": 5})]}), "and right is"),
        (lambda rows: rows.update({3: [shown(5, 3)]}), "it is not open"),
        (
            lambda rows: rows.update({3: [replace(shown(4, 3), window_id=7, absorbed_by=1)]}),
            "takes back what was never shown",
        ),
    ],
)
def test_other_rows_are_not(spoil: Callable[[dict[int, list[Row]]], object], why: str) -> None:
    history = right()
    spoil(history.early)
    [line] = found(history)
    assert why in line


def history(*batches: tuple[int, set[int], tuple[int, ...]]) -> SimulationHistory:
    """Batches, each with its clock, the lanes of which it had chunks, and the ends."""
    found = SimulationHistory(ends=[ends for *_, ends in batches])
    found.heard = {at: (us, frozenset(lanes)) for at, (us, lanes, _) in enumerate(batches)}
    return found


RUN = history(
    (0, {0, 1}, (1, 1)),
    (9, {0}, (2, 1)),
    (10, {0}, (3, 1)),
    (11, {0, 1}, (4, 1)),  # of lane 1, only what was there before
    (30, {0}, (5, 1)),
)


@pytest.mark.parametrize(
    ("batch", "lanes"), [(0, set()), (1, set()), (2, {1}), (3, set()), (4, {1})]
)
def test_a_lane_is_silent_once_the_timeout_is_over(batch: int, lanes: set[int]) -> None:
    assert silent(RUN, batch, 2, 10) == lanes


def test_where_all_may_be_silent_none_is() -> None:
    again = history((0, {0, 1}, (1, 1)), (20, {0}, (1, 1)))
    assert silent(again, 1, 2, 10) == set()


def test_the_silence_of_a_lane_that_joined_begins_there() -> None:
    joined = history((0, {0}, (1,)), (20, {0}, (2, 0)), (29, {0}, (3, 0)), (30, {0}, (4, 0)))
    joined.joined = {1: 1}
    assert [silent(joined, batch, 2, 10) for batch in (1, 2, 3)] == [set(), set(), {1}]
