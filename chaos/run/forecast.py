"""What a plan would do, and about how long it would take, without starting anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chaos.faults.catalogue import FAULTS, fault_named
from chaos.plan import Plan, PlannedFault
from chaos.run.runner import PreparedPlan
from chaos.verdict.catalogue import CHECKS

_START_S: Final = 12
_SUBMIT_S: Final = 45
_BATCH_S: Final = 3
_END_S: Final = 12
_JUDGE_S: Final = 25


def forecast(order: PreparedPlan) -> Iterator[str]:
    """Describe what a plan would do, line by line."""
    plan, size = order.plan, order.plan.workload.max_offsets
    body = len(order.records) - plan.reserve
    yield f"{plan.name}: {order.pipeline} on {', '.join(plan.components)} of its own"
    yield f"  {plan.workload}: {body} sent first, {-(-body // size)} batches of {size} at the most"
    if plan.reserve:
        yield f"  {plan.reserve} held back, for the last fault to send"
    drawn = "in an order drawn from the seed" if plan.order == "seeded" else "in this order"
    rounds = "" if plan.rounds == 1 else f", {plan.rounds} times"
    yield f"  faults, {drawn}{rounds}:"
    for step in plan.faults:
        yield f"    {_forecast(step)}"
    yield "  then the end of each partition is sent, the job comes to it, and is stopped"
    yield f"  checks: {', '.join(('took effect', *plan.checks))}"
    yield (
        f"  about {_minutes(seconds(plan, body))} min on two cores that nobody else uses; a job "
        f"that stands still for {plan.give_up_us / 1e6:g} s is given up"
    )


def seconds(plan: Plan, records: int) -> float:
    """Estimate the duration of a plan in seconds, on two otherwise idle cores.

    `records` are sent before the job starts.
    """
    faults = plan.rounds * sum(_hold_s(step) + FAULTS[step.fault].back_s for step in plan.faults)
    batches = -(-records // plan.workload.max_offsets)
    judged = _JUDGE_S + sum(CHECKS[name].takes_s for name in plan.checks)
    return _START_S + _SUBMIT_S + faults + _BATCH_S * batches + _END_S + judged


def _forecast(step: PlannedFault) -> str:
    batches = "1 batch" if step.after == 1 else f"{step.after} batches"
    hold_s = _hold_s(step)
    held = f", for {hold_s:g} s" if hold_s else ""
    expected = "" if step.expect is None else f", which must be {step.expect}"
    ends = "; the run ends with it" if FAULTS[step.fault].ends == "run" else ""
    return f"after {batches}: {step.fault}{held}{expected}{ends}"


def _hold_s(step: PlannedFault) -> float:
    hold_s = None if step.hold_us is None else step.hold_us / 1e6
    return fault_named(step.fault, hold_s=hold_s, records=step.records).hold_s


def _minutes(seconds: float) -> int:
    return max(1, round(seconds / 60))
