"""What a pipeline means, in words and a picture, for people who are about to run it."""

from __future__ import annotations

from collections.abc import Iterator

from windowing.model.emission import Early
from windowing.model.explain.evaluation import Evaluation, evaluation_of, growing, partial_bytes
from windowing.model.explain.join import explain_join
from windowing.model.explain.lengths import speller
from windowing.model.fields import SIGNATURES, Aggregate
from windowing.model.file.pipeline import Pipeline, Query, Source
from windowing.model.lengths import spell_us
from windowing.model.progress.disorder import Adaptive, Heartbeat, OrderedPer, Slack, SlackRows
from windowing.model.rules import in_log_order
from windowing.model.windows.by_record import example_step

_WIDTH = 60
_SHOWN = 4


def explain(pipeline: Pipeline) -> Iterator[str]:
    """The lines of an explanation: lanes, then each query with its first windows to scale."""
    source = pipeline.source
    lanes = f"{source.partitions} lane" + "s" * (source.partitions > 1)
    topics = " and ".join(part.topic for part in source.parts)
    yield f"{pipeline.name}: topic {topics}, {lanes}, {pipeline.shards} shards"
    for part in source.parts:
        of_lane = "of a lane" if len(source.parts) == 1 else f"of a lane of {part.topic}"
        how = _progress(part, part.event_time.field)
        yield f"  progress {of_lane}: {how}; of the stream: the smallest of its lanes"
        if part.idle_timeout_us is not None:
            silent = f"silent for {spell_us(part.idle_timeout_us)}"
            yield f"  a lane {silent} holds back results, and no provisional rows"
    for lane in source.joined_lanes:
        at = ", ".join(f"{field} {value}" for field, value in lane.at) or "none"
        yield f"  {lane.name} joined as lane {lane.number}; its progress before any record: {at}"
    for attribute in dict.fromkeys(query.window.attribute for query in pipeline.queries):
        if attribute in source.fields:
            yield f"  progress by {attribute}: {_progress(source, attribute)}"
    if pipeline.join is not None:
        (query,) = pipeline.queries
        yield ""
        yield from explain_join(pipeline.join, query)
        yield f"  late: {_late(query, source)}"
        return
    for query in pipeline.queries:
        yield ""
        yield from explain_query(query, pipeline)


def explain_query(query: Query, pipeline: Pipeline) -> Iterator[str]:
    """The lines of one query."""
    chosen = evaluation_of(query, pipeline)
    yield f"{query.name}: {title(query, pipeline.source)}"
    yield f"  context class: {chosen.context}: {chosen.meaning}"
    yield f"  evaluated as: {chosen.way}"
    yield f"  because: {chosen.because}"
    yield f"  key: {', '.join(_key(query)) or 'none: one row per window'}"
    yield from _state(query, pipeline, chosen)
    yield f"  late: {_late(query, pipeline.source)}"
    if query.early is not None:
        yield f"  early: {_early(query.early)}; provisional, and no part of the result"
        if query.window.traits.merging:
            yield "    an early tombstone where a start moves before the session has ended"
    if query.accumulation != "accumulating":
        yield f"  later rows: {_ACCUMULATION[query.accumulation]}"
    if query.entries_max is not None:
        yield f"  at most {query.entries_max} partial states in a shard, or the batch fails"
    if query.window.traits.pictured:
        yield from _picture(query, pipeline.source)


def title(query: Query, source: Source) -> str:
    """A window's class and lengths, as people say them."""
    return query.window.title(speller(query.window, source))


def _key(query: Query) -> list[str]:
    pattr = query.window.pattr
    own = [] if pattr is None else [f"{pattr} (windows of its own)"]
    return own + [name for name in query.group_by if name != pattr]


def _state(query: Query, pipeline: Pipeline, chosen: Evaluation) -> Iterator[str]:
    """What is kept per key, and its bound."""
    source = pipeline.source
    number = "as many" if chosen.partials is None else f"about {chosen.partials}"
    per_key = f"{number} partial states per lane as there are {chosen.counted}"
    if chosen.partials is not None:
        per_key = f"{number} partial states per lane: {chosen.counted}"
    yield f"  state per key: {per_key}"
    for aggregate in query.aggregates:
        yield f"    {aggregate.name}: {_keeps(aggregate)}"
    grows = growing(query, source)
    each = f"about {partial_bytes(query, source)} bytes a partial state"
    if grows:
        names = ", ".join(aggregate.name for aggregate in grows)
        yield f"  memory: {each}, and no bound: {names} grow with the records"
    elif chosen.partials is None:
        yield f"  memory: {each}; how many there are follows from the records"
    else:
        total = chosen.partials * partial_bytes(query, source) * source.partitions
        yield (
            f"  memory: {each}: about {_bytes(total)} per key while the lanes are level, and what "
            "the last batches brought"
        )


def _keeps(aggregate: Aggregate) -> str:
    if aggregate.user is not None:
        return f"the state of {aggregate.user}"
    return SIGNATURES[aggregate.function].keeps


def _bytes(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def _progress(source: Source, attribute: str) -> str:
    """How a lane gets its bounds by an attribute, in words."""
    newest, timed = f"its largest {attribute} so far", attribute == source.event_time.field
    match source.generator_of(attribute):
        case Slack(slack_us):
            length = spell_us(slack_us) if timed else slack_us
            return newest + (f" - {length}" if slack_us else "")
        case SlackRows(rows):
            return f"the smallest {attribute} of its {rows + 1} largest so far"
        case Heartbeat():
            return f"{newest}, less what its delays leave open, or what heartbeats have seen"
        case OrderedPer(attr, members):
            if members is None:
                return f"of each {attr} by itself: {newest}"
            return f"the smallest newest {attribute} of its values of {attr}"
        case Adaptive(late, over_rows):
            return f"{newest} less the slack that had {late} of its last {over_rows} records late"
        case _:
            return "the largest bound of its control records"


_ACCUMULATION = {
    "discarding": "what is new since the row before",
    "retracting": "the whole window, after the row before was taken back",
}


def _early(early: Early) -> str:
    if early.records is not None:
        return f"a row at every batch that brings a window {early.records} records more"
    return f"a row of what changed, every {spell_us(early.every_us or 0)}"


def _late(query: Query, source: Source) -> str:
    late, spell = query.late, speller(query.window, source)
    if in_log_order(query.window):
        return "no record is: rows count in the order of the log"
    if late.policy == "update":
        return (
            f"update, {late.mode}: revisions at epochs of {spell(late.every_us or 0)}, up to "
            f"{spell(query.retention_us or 0)} after a window's end, then dead letters"
        )
    outcome = {"drop": "counted and dropped", "dead_letter": "dead letters"}[late.policy]
    return f"{late.mode}: {outcome}; a row is sent once, when its window closes"


def _picture(query: Query, source: Source) -> Iterator[str]:
    """The first windows, to scale, with clipped starts."""
    window, spell = query.window, speller(query.window, source)
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
