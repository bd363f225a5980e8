"""The simulator's sink in memory, and the table sink's own code, give a run the same output."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from chaos.simulator.case import Case, Failure, FailureKind, PlannedBatch
from chaos.simulator.history import SimulationHistory
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.run import draw_case, history_of, run_case
from tests.unit.chaos.simulator.test_simulator import case

RUNS = 5
STEPS = (PlannedBatch(take=(2,)), PlannedBatch(take=(1,)))


def content(history: SimulationHistory) -> object:
    """What a sink holds of each batch; nothing of those that have no rows."""
    found = {
        number: (sorted(batch.rows), sorted(batch.dead), sorted(batch.metrics, key=repr))
        for number, batch in history.batches.items()
    }
    return {number: own for number, own in found.items() if any(own)}


@pytest.mark.parametrize("number", range(RUNS))
def test_drawn_runs_have_the_same_rows_in_memory_and_in_tables(number: int) -> None:
    drawn = draw_case(20_26, number, EngineParts())
    histories = [
        history_of(msgspec.structs.replace(drawn, disk=disk, tables=tables), EngineParts())
        for disk, tables in ((True, False), (False, True), (False, False))
    ]
    on_disk, *in_memory = map(content, histories)
    assert on_disk
    assert in_memory == [on_disk, on_disk]


KINDS: list[FailureKind] = ["driver dies among the tables", "sink refuses", "sink does not answer"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_driver_dies_at_every_entry_of_the_logs(kind: FailureKind) -> None:
    """Its tables are q, dead letters, metrics and tokens."""
    for at in range(4):
        step = msgspec.structs.replace(STEPS[1], failures=(Failure(kind, at),), order=2)
        result = run_case(on_disk(STEPS[0], step), EngineParts())
        assert result.faults[kind] == 1
        assert not result.findings


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_a_second_driver_writes_the_same_batch_meanwhile(order: int) -> None:
    step = msgspec.structs.replace(STEPS[1], rival="same batch", order=order)
    result = run_case(on_disk(STEPS[0], step), EngineParts())
    assert result.faults["second driver on the same batch"] == 1
    assert not result.findings


@pytest.mark.parametrize("which", range(4))
def test_a_lost_table_is_named(which: int) -> None:
    step = msgspec.structs.replace(STEPS[1], lose_table=which, order=2)
    result = run_case(on_disk(STEPS[0], step), EngineParts())
    assert result.faults["table lost"] == 1
    assert not result.findings


def on_disk(*plan: PlannedBatch) -> Case:
    return msgspec.structs.replace(case(*plan), disk=True)


def test_nothing_of_a_run_is_left_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaos.simulator.platform.disks._IN_MEMORY", tmp_path)
    one = msgspec.structs.replace(on_disk(*STEPS), copies="damaged")
    assert not run_case(one, EngineParts()).findings
    assert not [*tmp_path.iterdir()]
