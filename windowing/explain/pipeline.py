"""What a pipeline means, in words and a picture, for people who are about to run it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from windowing.engine.flow_plan import FlowPlan
from windowing.engine.plan import Plan, plan_flow
from windowing.explain.asof import explain_asof
from windowing.explain.families import explain_families
from windowing.explain.join import explain_join, explain_policy_join
from windowing.explain.operators import explain_operators
from windowing.explain.window_join import explain_window_join
from windowing.explain.words import context_of, memory_bound, partial_bytes, speller
from windowing.model.asof import AsofQuery
from windowing.model.computed import BAD_EXPRESSION, warning
from windowing.model.control import ControlRule
from windowing.model.emission import Early
from windowing.model.fields import Aggregate
from windowing.model.file.pipeline import Pipeline, Query, Source
from windowing.model.functions import SIGNATURES
from windowing.model.lengths import spell_instant, spell_us
from windowing.model.operators.join import PolicyJoinQuery
from windowing.model.operators.query import OperatorQuery
from windowing.model.query import Flow, JoinQuery
from windowing.model.rules import in_log_order
from windowing.model.window_join import WindowJoinQuery
from windowing.model.windows.by_record import example_step

_WIDTH = 60
_SHOWN = 4
_FLOWS_MAX = 100
_FILTERED: Final = "they are counted, move progress, and no query sees them"


def explain(plan: Plan) -> Iterator[str]:
    """Give the lines of an explanation: lanes, then each query with its first windows to scale."""
    pipeline, source = plan.pipeline, plan.pipeline.source
    lanes = f"{plan.lanes} lane" + "s" * (plan.lanes > 1)
    topics = " and ".join(part.topic for part in source.parts)
    yield f"{pipeline.name}: topic {topics}, {lanes}, {plan.shards} shards"
    if plan.why_lanes is None:
        yield "  plan: fused: lanes are scanned where they are decoded, and settled in the shards"
    else:
        yield f"  plan: lanes have a stage of their own: {plan.why_lanes}"
    for part in source.parts:
        of_lane = "of a lane" if len(source.parts) == 1 else f"of a lane of {part.topic}"
        how = _progress(part, part.event_time.field)
        yield f"  progress {of_lane}: {how}; of the stream: the smallest of its lanes"
        yield f"  control records of {part.topic}: {_believed(part.control)}"
        if part is source.parts[0] or pipeline.join is not None:
            yield from _computed(part)
        yield from _duplicates(part)
        if part.idle_timeout_us is not None:
            silent = f"silent for {spell_us(part.idle_timeout_us)}"
            yield f"  a lane {silent} holds back results, and no provisional rows"
    for lane in source.added_lanes:
        at = ", ".join(f"{field} {value}" for field, value in lane.at) or "none"
        yield f"  {lane.name} joined as lane {lane.number}; its progress before any record: {at}"
    for attribute in dict.fromkeys(window.attribute for window in pipeline.windows):
        if attribute in source.fields:
            yield f"  progress by {attribute}: {_progress(source, attribute)}"
    if plan.families:
        yield ""
        yield from explain_families(plan)
    shared = {family.name for family in plan.families}
    alone = [flow for flow in plan.flows if flow.name not in shared]
    for flow in alone[:_FLOWS_MAX]:
        yield ""
        yield from explain_flow(flow, plan)
    if len(alone) > _FLOWS_MAX:
        yield ""
        yield f"… and {len(alone) - _FLOWS_MAX:,} queries more: --query NAME explains one"


def _computed(source: Source) -> Iterator[str]:
    """Give the lines of what a source computes of each record."""
    if source.time is not None:
        yield f"  event time: {source.time.text}"
    for one in source.computations:
        fails = f"if it has no value, the record is a dead letter, {BAD_EXPRESSION}"
        if one.role == "derive":
            yield f"  {one.name} ({one.type}) is {one.text}; {fails}"
        elif one.role == "rule":
            yield f"  rule {one.name}: {one.text}; else the record is a dead letter, {one.reason}"
        elif one.role == "warn":
            yield f"  rule {one.name}: {one.text}; else it is counted, as {warning(one.name).name}"
        elif one.role == "where":
            yield f"  taken are records for which {one.text}; others are filtered: {_FILTERED}"
        else:
            yield f"  for aggregates: {one.text} ({one.type}); {fails}"


def explain_flow(flow: FlowPlan[Any], plan: Plan) -> Iterator[str]:
    """Give the lines of one flow, of any kind."""
    return _EXPLAINED[flow.query.flow_kind](flow, plan)


def explain_one(plan: Plan, name: str) -> Iterator[str]:
    """Give the lines of one query of a pipeline.

    Raises:
        UnknownQuery: the pipeline has none of this name.
    """
    for query in plan.pipeline.flows:
        if query.name == name:
            yield from explain_flow(plan_flow(query, plan.pipeline), plan)
            for family in plan.families:
                if name in family.names:
                    yield f"  shares slices with {len(family.names) - 1:,} others: {family.name}"
            return
    raise UnknownQuery(name, [flow.name for flow in plan.pipeline.flows])


class UnknownQuery(ValueError):
    """A name that no query has."""

    exit_code = 2

    def __init__(self, name: str, known: Sequence[str]) -> None:
        some = ", ".join(known[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
        super().__init__(f"no query is called {name!r}: the pipeline has {some}")


def explain_query(flow: FlowPlan[Query], plan: Plan) -> Iterator[str]:
    """Give the lines of one query."""
    query, source = flow.query, plan.pipeline.source
    context, evaluation = context_of(query.window), flow.evaluation
    yield f"{query.name}: {title(query, source)}"
    yield from _activity(query)
    yield f"  context class: {context.name}: {context.meaning}"
    yield f"  evaluated as: {evaluation.way}"
    yield f"  because: {evaluation.because}"
    yield f"  key: {', '.join(_key(query)) or 'none: one row per window'}"
    yield from _state(flow, plan)
    in_order = in_log_order(query.window)
    yield f"  late: {_NEVER_LATE if in_order else _late(query, source)}"
    if query.retention_us is None and _counts_windows(query, plan.pipeline):
        yield "  retention: changes no row, as no record is taken late: what has closed is deleted"
    if query.early is not None:
        yield f"  early: {_early(query.early)}; provisional, and no part of the result"
        if query.window.traits.merging:
            yield "    an early tombstone where a start moves before the session has ended"
    if query.accumulation != "accumulating":
        yield f"  later rows: {_ACCUMULATION[query.accumulation]}"
    yield from _rows_sent(query)
    if query.entries_max is not None:
        yield f"  at most {query.entries_max} partial states in a shard, or the batch fails"
    if query.window.traits.pictured:
        yield from _picture(query, source)


def _rows_sent(query: Query) -> Iterator[str]:
    """Say which windows have rows although they are empty, and which rows are sent."""
    if query.empty_after:
        many = f"{query.empty_after:,} windows" if query.empty_after > 1 else "window"
        yield (
            f"  empty: the next {many} of a key behind one with records in time, while "
            f"{'they have' if query.empty_after > 1 else 'it has'} none; for that, a key's last "
            "partial state is kept so much longer"
        )
    if query.having is None:
        return
    does = "withdraws the row before, if that held, as a tombstone"
    if query.accumulation == "retracting":
        does = "is not sent; the row before is taken back as ever, if that held"
    yield f"  having: {query.having.text}"
    yield f"    a row that does not hold, or for which this is null or fails, {does}"


def _explain_join(flow: FlowPlan[JoinQuery], plan: Plan) -> Iterator[str]:
    join = flow.query
    if isinstance(join, PolicyJoinQuery):
        yield from explain_policy_join(join, flow.evaluation)
    else:
        yield from explain_join(flow)
        yield f"  late: {_late(join, plan.pipeline.source)}"


def _explain_window_join(flow: FlowPlan[WindowJoinQuery], plan: Plan) -> Iterator[str]:
    yield from explain_window_join(flow, _late(flow.query, plan.pipeline.source))


_EXPLAINED: Final[Mapping[str, Callable[[Any, Plan], Iterator[str]]]] = {
    Query.flow_kind: explain_query,
    JoinQuery.flow_kind: _explain_join,
    AsofQuery.flow_kind: lambda flow, _: explain_asof(flow),
    WindowJoinQuery.flow_kind: _explain_window_join,
    OperatorQuery.flow_kind: explain_operators,
}


def _activity(query: Query) -> Iterator[str]:
    active = query.window.active
    if active is None:
        return
    if active.begins_us is not None:
        windows = {
            "skip": "windows that begin then or later",
            "emit": "windows that end later, of which the first begin then",
        }[active.warmup]
        yield f"  joins at {spell_instant(active.begins_us)}: {windows}"
    if active.until_us is not None:
        yield f"  leaves at {spell_instant(active.until_us)}: windows that end by then"


def title(query: Query, source: Source) -> str:
    """A window's class and lengths, as people say them."""
    return query.window.title(speller(query.attribute, source))


def _key(query: Query) -> list[str]:
    pattr = query.window.pattr
    own = [] if pattr is None else [f"{pattr} (windows of its own)"]
    return own + [name for name in query.group_by if name != pattr]


def _state(flow: FlowPlan[Query], plan: Plan) -> Iterator[str]:
    query, source, evaluation = flow.query, plan.pipeline.source, flow.evaluation
    partials = evaluation.estimate(query, source)
    per_key = f"as many partial states per lane as there are {evaluation.counted}"
    if partials is not None:
        per_key = f"about {partials} partial states per lane: {evaluation.counted}"
    yield f"  state per key: {per_key}"
    for aggregate in query.aggregates:
        yield f"    {aggregate.name}: {_keeps(aggregate)}"
    yield f"  memory: {memory(flow, plan)}"


def memory(flow: FlowPlan[Query], plan: Plan) -> str:
    """Say what bounds the state of a query, in bytes per key."""
    query, source = flow.query, plan.pipeline.source
    return memory_bound(
        query,
        source,
        size=f"{partial_bytes(query, source)} bytes",
        partials=flow.evaluation.estimate(query, source),
        lanes=plan.lanes,
        more="and what the last batches brought",
    )


def cost(plan: Plan, name: str) -> str:
    """Say what one query adds to the state of a pipeline.

    Raises:
        UnknownQuery: no query of windows has this name.
    """
    pipeline = plan.pipeline
    for family in plan.families:
        if name in family.names:
            others = f"{len(family.names) - 1:,} others"
            return f"shares slices with {others}, which are kept for as long as its windows need"
    for query in pipeline.of(Query):
        if query.name == name:
            return f"has slices of its own: {memory(plan_flow(query, pipeline), plan)}"
    raise UnknownQuery(name, [query.name for query in pipeline.of(Query)])


def _keeps(aggregate: Aggregate) -> str:
    if aggregate.user is not None:
        return f"the state of {aggregate.user}"
    return SIGNATURES[aggregate.function].keeps


def _duplicates(source: Source) -> Iterator[str]:
    rule = source.duplicates
    if rule is None:
        return
    within, of = spell_us(rule.within_us), " and ".join(rule.by)
    yield (
        f"  duplicates of {source.topic}: a record with the {of} of one that its lane has kept, "
        f"less than {within} apart; it is counted, and moves progress"
    )
    yield f"    one in another lane is not found: let {of} decide the partition of a record"
    kept = f"{of} and time of each record that is kept, for {spell_us(2 * rule.within_us)}"
    how = "behind the progress of its lane"
    if source.disorder.progress_attr is not None:
        how += ", which only bounds of the whole lane move, as the records' is per key"
    yield f"    memory: {kept} {how}; a record {within} or more behind it is no duplicate"


def _believed(rule: ControlRule) -> str:
    who = "whoever may write to the topic"
    if rule.key is not None:
        who = f"whoever signs with {rule.key}"
    match rule.believe:
        case "none":
            return "none is believed"
        case "bounds":
            return f"{who} moves progress and ends lanes; nobody changes queries by the log"
        case "all":
            return (
                f"{who} moves progress, ends lanes, and changes queries: adds at most "
                f"{rule.queries} in a lane, with classes that the file names"
            )


def _progress(source: Source, attribute: str) -> str:
    timed = attribute == source.event_time.field
    return source.generator_of(attribute).explained(attribute, timed=timed)


_ACCUMULATION = {
    "discarding": "what is new since the row before",
    "retracting": "the whole window, after the row before was taken back",
}


def _early(early: Early) -> str:
    if early.records is not None:
        return f"a row at every batch that brings a window {early.records} records more"
    return f"a row of what changed, every {spell_us(early.every_us or 0)}"


def _counts_windows(query: Query, pipeline: Pipeline) -> bool:
    """Whether the file says how many windows the query keeps."""
    file = pipeline.query_files.get(query.name)
    kept = getattr(file, "retention", None) or pipeline.retention
    return kept is not None and kept.windows is not None


_NEVER_LATE = "no record is: rows count in the order of the log"


def _late(query: Flow, source: Source) -> str:
    late, spell = query.late, speller(query.attribute, source)
    if late.policy == "update":
        return (
            f"update, {late.mode}: revisions at epochs of {spell(late.every_us or 0)}, up to "
            f"{spell(query.retention_us or 0)} after a window's end, then dead letters"
        )
    outcome = {"drop": "counted and dropped", "dead_letter": "dead letters"}[late.policy]
    return f"{late.mode}: {outcome}; a row is sent once, when its window closes"


def _picture(query: Query, source: Source) -> Iterator[str]:
    window, spell = query.window, speller(query.attribute, source)
    extents = window.first_extents(_SHOWN)
    lowest, highest = min(e.start for e in extents), max(e.end for e in extents)
    at_records = window.traits.at_records
    if at_records:
        step = spell(example_step(window.range_ or 1))
        yield f"  with a record every {step}, the first windows are"
    opens, closes = "(]" if at_records else "[)"
    origin = 0 if at_records else window.origin

    def instant(length: int) -> str:
        parts = [spell(part) for part in (origin, length) if part]
        return " + ".join(parts) or "0"

    for extent in extents:
        left = (extent.start - lowest) * _WIDTH // (highest - lowest)
        right = max((extent.end - lowest) * _WIDTH // (highest - lowest), left + 1)
        bar = " " * left + opens + "-" * (right - left - 1) + closes
        name = spell(extent.wid) if at_records else str(extent.wid)
        span = f"{instant(extent.start)} … {instant(extent.end)}"
        yield f"  {name:>6} {bar:<{_WIDTH + 2}} {span}"
