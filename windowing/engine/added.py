"""Queries that are added to a run, from now on.

A window's result is a function of the whole log, of which a checkpoint keeps only what the run's
own queries still need. So a query can be added to a run if no window of it holds a record that was
read before: it has a `from`, or its windows an ORIGIN, and that lies behind them all. What came
before is outside, for the definition too, which sees the whole log.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from windowing.engine.flow_plan import FlowPlan
from windowing.engine.plan import Plan, plan_flow
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.wids import NOTHING_YET
from windowing.engine.windows.active import ActiveLanes
from windowing.model import Query
from windowing.model.lengths import spell_instant
from windowing.model.run_errors import CheckpointMismatch
from windowing.model.windows.sliding import begins_later
from windowing.model.windows.traits import Ends
from windowing.model.windows.window import Window


def why_not(before: Plan, after: Plan, query: str) -> str | None:
    """Return why a query cannot be added to any run of a pipeline; None: it can.

    Args:
        before: the plan of the run.
        after: the plan with the query.
    """
    if shared := _shared(before, after):
        return (
            f"{shared} queries would share slices with each other that do not in the run, whose "
            "state knows its own slices alone: submit the file as a new run"
        )
    flow = next(_flows(after, [query]), None)
    if flow is None:
        return "a query of operators sees every record from the first one on"
    window = flow.query.window
    later = begins_later(window)
    lies = window.traits.ends in (Ends.SLIDES, Ends.CALENDAR)
    if not lies or (window.align == "start" and not later):
        return (
            f"{window.kind} windows{' with ALIGN start' * (window.align == 'start')} may hold "
            "records from before it was added: only windows with an ORIGIN at their beginning "
            "(RANGE … SLIDE … WATTR, LANDMARK, CUMULATE), or a query with from, can begin later"
        )
    if flow.clock not in before.clocks or flow.clock.attribute != window.attribute:
        return f"the run does not know its own progress by {window.attribute}"
    if before.why_lanes is None and after.why_lanes is not None:
        return f"lanes of the run have no stage of their own, and with it: {after.why_lanes}"
    if window.origin == 0 and not later:
        return (
            "its windows begin with the log: give the query a from behind all that the run has "
            "read, such as from: 2013-01-02T00:00Z, or its window an ORIGIN there"
        )
    return None


def _shared(before: Plan, after: Plan) -> int:
    known = [family.founders for family in before.families]
    return sum(len(one.founders) for one in after.families if one.founders not in known)


def _flows(plan: Plan, queries: Collection[str]) -> Iterator[FlowPlan[Query]]:
    """Yield how each of some queries would run alone; those of operators are left out."""
    for query in plan.pipeline.of(Query):
        if query.name in queries:
            yield plan_flow(query, plan.pipeline)


def beginning(window: Window) -> int:
    """Return the smallest value that any window of a query holds, as `why_not` allows it."""
    active = window.active
    if active is None or active.begins_us is None:
        return window.origin
    anywhere = window.align == "start" or window.traits.ends is Ends.CALENDAR
    return active.begins_us if anywhere else max(window.origin, active.begins_us)


def check_origins(
    after: Plan, queries: Collection[str], reached: Mapping[str, Sequence[LaneProgress]]
) -> None:
    """Check that no window of added queries holds anything that was read.

    Args:
        after: the plan with the queries.
        reached: the lanes' progress, by clock.

    Raises:
        CheckpointMismatch: one might; names the first ORIGIN that is possible.
    """
    for flow in _flows(after, queries):
        # A lane that does not take part gives it no records, whatever it has read.
        lanes = ActiveLanes.of(flow.query.window, after.pipeline.source)
        newest = max(
            (
                lane.newest_us
                for number, lane in enumerate(reached[flow.clock.name])
                if lanes is None or number in lanes.joins_at
            ),
            default=NOTHING_YET,
        )
        if beginning(flow.query.window) <= newest:
            raise CheckpointMismatch(_too_early(flow, newest, after))


def check_ends(
    after: Plan, queries: Collection[str], reached: Mapping[str, Sequence[LaneProgress]]
) -> None:
    """Check that no window was sent, and no record judged, that a query's end leaves out.

    Args:
        after: the plan with the ends.
        queries: the names of those that end only now.
        reached: the lanes' progress, by clock.

    Raises:
        CheckpointMismatch: one was; names the first `until` that is possible.
    """
    for flow in _flows(after, queries):
        window, lanes = flow.query.window, reached[flow.clock.name]
        active = window.active
        assert active is not None  # noqa: S101 - it ends
        assert active.until_us is not None  # noqa: S101
        first = min(lane.progress_us for lane in lanes)
        if active.left is None:
            # A file says it of all records, also of those that were read.
            newest = max(lane.newest_us for lane in lanes)
            first = max(first, newest + (window.range_ or 0))
        if active.until_us < first:
            msg = (
                f"query {flow.name} is to leave at until {spell_instant(active.until_us)}, and the "
                f"run has read more than that: let it leave at {spell_instant(first)} or later; "
                "nothing was changed"
            )
            raise CheckpointMismatch(msg)


def _too_early(flow: FlowPlan[Query], newest: int, after: Plan) -> str:
    window = flow.query.window
    timed = window.attribute == after.pipeline.source.event_time.field
    spell = spell_instant if timed else str
    behind = (newest // window.slide + 1) * window.slide
    key = "from" if begins_later(window) else "ORIGIN"
    return (
        f"query {flow.name} begins at {key} {spell(beginning(window))}, and the run has read "
        f"records up to {window.attribute} {spell(newest)}, which its windows would lack: begin "
        f"behind them, such as at {key} {spell(behind)}; nothing was changed"
    )
