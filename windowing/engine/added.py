"""Queries that are added to a run, from now on.

A window's result is a function of the whole log, of which a checkpoint keeps only what the run's
own queries still need. So a query can be added to a run if no window of it holds a record that was
read before: its windows have an ORIGIN, and it lies behind them all. What came before is outside,
for the definition too, which sees the whole log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from windowing.engine.plan import FlowPlan, Plan
from windowing.engine.progress.reached import Reached
from windowing.engine.wids import NOTHING_YET
from windowing.model import Query
from windowing.model.lengths import spell_instant
from windowing.model.run_errors import CheckpointMismatch
from windowing.model.windows.traits import Ends


def why_not(before: Plan, after: Plan, query: str) -> str | None:
    """Return why a query cannot be added to any run of a pipeline; None: it can.

    Args:
        before: the plan of the run.
        after: the plan with the query.
        query: its name.
    """
    if shared := _shared(before, after):
        return (
            f"{shared} queries would share slices with each other that do not in the run, whose "
            "state knows its own slices alone: submit the file as a new run"
        )
    flow = next((one for one in after.queries if one.name == query), None)
    if flow is None:
        return "a query of operators sees every record from the first one on"
    window = flow.query.window
    if window.traits.ends is not Ends.SLIDES or window.align == "start":
        return (
            f"{window.kind} windows{' with ALIGN start' * (window.align == 'start')} may hold "
            "records from before it was added: only windows with an ORIGIN at their beginning "
            "(RANGE … SLIDE … WATTR, or RANGE LANDMARK) can begin later"
        )
    if flow.clock not in before.clocks or flow.clock.attribute != window.attribute:
        return f"the run does not know its own progress by {window.attribute}"
    if before.why_lanes is None and after.why_lanes is not None:
        return f"lanes of the run have no stage of their own, and with it: {after.why_lanes}"
    if window.origin == 0:
        return (
            "its windows begin with the log: give the window an ORIGIN behind all that the run "
            "has read, such as ORIGIN 2013-01-02T00:00Z"
        )
    return None


def _shared(before: Plan, after: Plan) -> int:
    """Return how many queries are in families that the run does not have."""
    known = [family.names for family in before.families]
    return sum(len(one.names) for one in after.families if one.names not in known)


def check_origins(
    after: Plan, queries: Iterable[str], reached: Mapping[str, Sequence[Reached]]
) -> None:
    """Check that no window of added queries holds anything that was read.

    Args:
        after: the plan with the queries.
        queries: their names.
        reached: the lanes' progress, by clock.

    Raises:
        CheckpointMismatch: one might; names the first ORIGIN that is possible.
    """
    for flow in (one for one in after.queries if one.name in {*queries}):
        newest = max((lane.newest_us for lane in reached[flow.clock.name]), default=NOTHING_YET)
        if flow.query.window.origin <= newest:
            raise CheckpointMismatch(_too_early(flow, newest, after))


def _too_early(flow: FlowPlan[Query], newest: int, after: Plan) -> str:
    window = flow.query.window
    timed = window.attribute == after.pipeline.source.event_time.field
    spell = spell_instant if timed else str
    behind = (newest // window.slide + 1) * window.slide
    return (
        f"query {flow.name} begins at ORIGIN {spell(window.origin)}, and the run has read records "
        f"up to {window.attribute} {spell(newest)}, which its windows would lack: begin behind "
        f"them, such as at ORIGIN {spell(behind)}; nothing was changed"
    )
