"""What a query with operators means, in words, for people who are about to run it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from windowing.engine.flow_plan import FlowPlan
from windowing.engine.plan import Plan
from windowing.explain.words import speller
from windowing.model.operators.ports import Ports, graph_of
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import (
    AggregateStep,
    DedupStep,
    Punctuate,
    SortStep,
    Step,
)
from windowing.model.windows.policy import (
    Count,
    Delta,
    PartitionAge,
    PartitionCount,
    Policy,
    Punct,
    Selection,
    Time,
    TupleCount,
    WindowClause,
)
from windowing.model.windows.window import Spell

WALL: Final = "outside the promise: rows depend on the machine's clock, and verify leaves them out"
"""What `clock: wall` means for a query."""

# Gedik 2014, Tables I and II: what happens on each tuple, by eviction and trigger.
_TUMBLING: Final[dict[type[Policy], str]] = {
    Count: "insert; flush once the window is full",
    Delta: "flush if it lies beyond the threshold from the first stored tuple; insert",
    Time: "insert; the clock flushes",
    Punct: "insert; a punctuation flushes",
}
_SLIDING: Final[dict[tuple[type[Policy], type[Policy]], str]] = {
    (Count, Count): "evict; insert; full for the first time?; report",
    (Count, Delta): "report, without it; evict; insert; full for the first time?",
    (Count, Time): "evict; insert; full for the first time?; the clock reports",
    (Delta, Count): "full for the first time?; evict; insert; report",
    (Delta, Delta): "full for the first time?; report, without it; evict; insert",
    (Delta, Time): "full for the first time?; evict; insert; the clock reports",
    (Time, Count): "insert; report; the clock evicts",
    (Time, Delta): "report, without it; insert; the clock evicts",
    (Time, Time): "insert; the clock evicts and reports",
}
_SELECTED: Final = {
    Selection.lru: "the least recently updated",
    Selection.lfu: "the least frequently updated",
    Selection.oldest: "the oldest",
}


def explain_operators(flow: FlowPlan[OperatorQuery], plan: Plan) -> Iterator[str]:
    """Give the lines of a query with operators."""
    query, evaluation, source = flow.query, flow.evaluation, plan.pipeline.source
    spell = speller(query.attribute, source)
    numbered = len(query.steps) > 1
    yield f"{query.name}: {' -> '.join(_names(query))}"
    for number, step in enumerate(query.steps, start=1):
        place = f"{number}. " if numbered else ""
        yield f"  {place}{_operator(step)}"
        if not isinstance(step, Punctuate):
            yield f"    window: {described(step.window, query.attribute, spell)}"
            yield f"    on each tuple: {order_of_events(step.window)}"
            yield f"    kept: {kept(step.window, spell)}"
            if step.window.partition_by:
                yield f"    partitions: {partitions(step.window, spell)}"
    yield f"  evaluated as: {evaluation.way}"
    yield f"  order: {_order(query)}"
    yield f"  clock: {_clock(query)}"
    yield f"  unit: {_unit(query)}"
    yield f"  key: {', '.join(query.key) or 'none: rows are told apart by their number'}"
    yield f"  punctuations: {_punctuations(query)}"
    yield f"  late: {_late(query)}"


def described(window: WindowClause, attribute: str, spell: Spell) -> str:
    """Describe a window in words.

    Args:
        attribute: the event time.
        spell: how a length of event time is written.
    """
    eviction = _evicts(window, attribute, spell)
    if window.trigger is not None:
        eviction += f", reported {_reports(window.trigger, attribute, spell)}"
    if window.partition_by:
        eviction += f", for each {', '.join(window.partition_by)}"
    return eviction


def order_of_events(window: WindowClause) -> str:
    """Give the order of a window's events on each tuple, as the paper's tables say."""
    if window.trigger is None:
        return _TUMBLING[type(window.eviction)]
    return _SLIDING[type(window.eviction), type(window.trigger)]


def _evicts(window: WindowClause, attribute: str, spell: Spell) -> str:
    tumbling = window.kind == "tumbling"
    match window.eviction:
        case Count(size):
            return f"each {size} tuples" if tumbling else f"the last {size} tuples"
        case Time(period_us):
            length = spell(period_us)
            return f"each {length} of the clock" if tumbling else f"the tuples of the last {length}"
        case Delta(field, threshold):
            far = spell(int(threshold)) if field == attribute else str(threshold)
            if tumbling:
                return f"the tuples whose {field} is at most {far} above that of the first"
            return f"the tuples whose {field} is at most {far} below that of the newest"
    return "the tuples between two punctuations"


def _reports(trigger: Policy, attribute: str, spell: Spell) -> str:
    match trigger:
        case Count(1):
            return "at every tuple"
        case Count(0):
            return "never"
        case Count(size):
            return f"every {size} tuples"
        case Delta(field, threshold):
            far = spell(int(threshold)) if field == attribute else str(threshold)
            return f"whenever {field} has grown by more than {far}"
        case Time(period_us):
            return f"every {spell(period_us)} of the clock"
    msg = "no window reports at punctuations: its model refuses that"
    raise AssertionError(msg)


def partitions(window: WindowClause, spell: Spell) -> str:
    """Say which partitions are kept."""
    match window.partition_eviction:
        case PartitionAge(age_us):
            return f"evicted {spell(age_us)} after their last tuple"
        case PartitionCount(size, selection):
            return f"at most {size}: {_SELECTED[selection]} is evicted"
        case TupleCount(size, selection):
            return f"at most {size} tuples in all of them: {_SELECTED[selection]} is evicted"
    if window.kind == "tumbling" and not isinstance(window.eviction, Delta):
        return "each is removed when it is flushed"
    return "kept forever, as nothing evicts them: EVICT bounds their number"


def kept(window: WindowClause, spell: Spell) -> str:
    """Say how many tuples a window, or a partition of it, stores."""
    match window.eviction:
        case Count(size):
            tuples = f"up to {size} tuples"
        case Time(period_us):
            tuples = f"the tuples of {spell(period_us)}"
        case Delta():
            tuples = "the tuples within the threshold"
        case _:
            tuples = "the tuples since the last punctuation"
    return f"{tuples} per partition" if window.partition_by else tuples


def _names(query: OperatorQuery) -> list[str]:
    """Return the names of the operators of a query, without that of its source."""
    return list(graph_of(query).operators)[1:]


def _operator(step: Step) -> str:
    match step:
        case Punctuate(when):
            constant = repr(when.constant) if isinstance(when.constant, str) else when.constant
            return f"punctuate: after each tuple with {when.field} {when.comparator} {constant}"
        case AggregateStep():
            groups = f" by {', '.join(step.group_by)}" if step.group_by else ""
            partial = ", also before the window was first full" if step.partial_windows else ""
            evicted = ", also of partitions given up" if step.evicted_partitions else ""
            shown = ", ".join(aggregate.name for aggregate in step.aggregates)
            return f"aggregate{groups}: {shown}{partial}{evicted}"
        case SortStep():
            by = ", ".join(f"{field} {direction}" for field, direction in step.by)
            way = "all tuples of a window" if step.window.kind == "tumbling" else "progressively"
            return f"sort by {by}: {way}"
        case DedupStep():
            return f"dedup by {', '.join(step.by)}: a tuple is sent unless the window has its equal"
    return f"python:{step.reference}: sends {', '.join(name for name, _ in step.outputs)}"


def _order(query: OperatorQuery) -> str:
    if query.order == "lane":
        return "lane: by offset, each lane with windows of its own, as soon as a record is read"
    return (
        f"canonical: by {query.attribute}, topic, partition and offset, once the stream's progress "
        "has passed a record"
    )


def _clock(query: OperatorQuery) -> str:
    if query.clock == "wall":
        return f"the machine's, batch by batch: {WALL}"
    by = "records and the stream's progress" if query.order == "canonical" else "the lane's records"
    return f"event time, which {by} advance"


def _unit(query: OperatorQuery) -> str:
    lane = " of each lane" if query.order == "lane" else ""
    if query.unit:
        return f"each {', '.join(query.unit)}{lane} by itself, on its shard"
    clauses = [step.window for step in query.windows]
    if any(clause.partition_eviction is not None for clause in clauses):
        why = "partition eviction looks at all partitions"
    elif all(clause.partition_by for clause in clauses):
        why = "its windows are not partitioned by a common field"
    else:
        why = "a window is not partitioned"
    if query.order == "lane":
        return f"the whole of each lane by itself, on its shard, because {why}"
    return f"the whole stream on one shard, because {why}"


def _punctuations(query: OperatorQuery) -> str:
    operators = graph_of(query).operators.items()
    return " -> ".join(f"{name} ({_modes(ports)})" for name, ports in operators)


def _modes(ports: Ports) -> str:
    taken = ["expecting" if port.expects else port.mode.value for port in ports.inputs]
    return ", ".join([*taken, *(port.mode.value for port in ports.outputs)])


def _late(query: OperatorQuery) -> str:
    if query.order == "lane":
        return "no record is: each is processed when it is read"
    outcome = {"drop": "counted and dropped", "dead_letter": "dead letters"}[query.late.policy]
    return f"records behind the progress of their lane: {outcome}"
