"""What a plan would do, and how long that takes about; nothing is started."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chaos.faults.catalogue import FAULTS, fault_named
from chaos.plan import Plan, Step
from chaos.run.runner import Order

RECOVERY_S: Final[dict[str, float]] = {
    "kill_executor": 23,
    "pause_executor": 29,
    "kill_python_worker": 6,
    "kill_driver": 96,
    "kill_spark_worker": 89,
    "roll_spark_workers": 41,
    "kill_spark_master": 5,
    "kill_broker": 10,
    "pause_broker": 7,
    "roll_brokers": 2,
    "disconnect_broker": 10,
    "disconnect_spark_worker": 71,
    "pause_spark_worker": 25,
    "lose_packets": 10,
    "kill_airflow_task": 95,
    "kill_airflow_scheduler": 93,
    "slow_network": 5,
    "cut_network": 3,
    "reset_connections": 3,
    "lose_last_commit": 141,
    "delete_state_delta": 70,
    "corrupt_state_delta": 70,
    "delete_state_snapshot": 5,
    "corrupt_state_snapshot": 7,
    "delete_offsets": 72,
    "corrupt_offsets": 81,
    "rewind_offsets": 100,
    "fill_disk": 87,
    "restore_old_checkpoint": 7,
    "lose_table": 73,
    "recreate_topic": 60,
    "compact_topic": 89,
    "second_driver": 6,
    "add_partition": 153,
    "delete_records": 60,
    "silent_partition": 2,
    "duplicate_sends": 12,
    "poison_records": 9,
    "huge_records": 6,
}
"""Seconds until the job is back, as the nights measured them (`chaos/README.md`), the middle one of
several; of those that end the run, until it has said why."""

_START_S: Final = 12
_SUBMIT_S: Final = 45
_BATCH_S: Final = 3
_END_S: Final = 12
_JUDGE_S: Final = 25
_STATE_S: Final = 30


def forecast(order: Order) -> Iterator[str]:
    """Say what would happen, a line each.

    Args:
        order: a plan that fits its pipeline.
    """
    plan, size = order.plan, order.plan.workload.max_offsets
    body = len(order.records) - plan.reserve
    yield f"{plan.name}: {order.pipeline} on {', '.join(plan.components)} of its own"
    yield f"  {plan.workload}: {body} sent first, {-(-body // size)} batches of {size} at the most"
    if plan.reserve:
        yield f"  {plan.reserve} held back for the partitions that are not silent"
    drawn = "in an order drawn from the seed" if plan.order == "seeded" else "in this order"
    rounds = "" if plan.rounds == 1 else f", {plan.rounds} times"
    yield f"  faults, {drawn}{rounds}:"
    for step in plan.faults:
        yield f"    {_told(step)}"
    yield "  then the end of each partition is sent, the job comes to it, and is stopped"
    yield f"  checks: {', '.join(('took effect', *plan.checks))}"
    yield (
        f"  about {_minutes(seconds(plan, body))} min on two cores that nobody else uses; a job "
        f"that stands still for {plan.give_up_us / 1e6:g} s is given up"
    )


def seconds(plan: Plan, records: int) -> float:
    """How long a plan takes about, on two cores that nobody else uses.

    Args:
        plan: the plan.
        records: sent before the job starts.
    """
    faults = plan.rounds * sum(_hold_s(step) + RECOVERY_S[step.fault] for step in plan.faults)
    batches = -(-records // plan.workload.max_offsets)
    judged = _JUDGE_S + (_STATE_S if "state" in plan.checks else 0)
    return _START_S + _SUBMIT_S + faults + _BATCH_S * batches + _END_S + judged


def _told(step: Step) -> str:
    batches = "1 batch" if step.after == 1 else f"{step.after} batches"
    hold_s = _hold_s(step)
    held = f", for {hold_s:g} s" if hold_s else ""
    expected = "" if step.expect is None else f", which must be {step.expect}"
    ends = "; the run ends with it" if FAULTS[step.fault].ends == "run" else ""
    return f"after {batches}: {step.fault}{held}{expected}{ends}"


def _hold_s(step: Step) -> float:
    hold_s = None if step.hold_us is None else step.hold_us / 1e6
    return fault_named(step.fault, hold_s=hold_s, records=step.records).hold_s


def _minutes(seconds: float) -> int:
    return max(1, round(seconds / 60))
