"""What a pipeline means, in words and a picture, for people who are about to run it."""

from __future__ import annotations

from collections.abc import Iterator

from windowing.spec.disorder import Adaptive, Heartbeat, OrderedPer, Slack, SlackRows
from windowing.spec.lengths import spell_us
from windowing.spec.pipeline import Pipeline, Query, Source

_WIDTH = 60


def explain(pipeline: Pipeline) -> Iterator[str]:
    """The lines of an explanation: lanes, then each query with its first windows to scale."""
    source = pipeline.source
    lanes = f"{source.partitions} lane" + "s" * (source.partitions > 1)
    yield f"{pipeline.name}: topic {source.topic}, {lanes}, {pipeline.shards} shards"
    yield f"  progress of a lane: {_progress(source)}; of the stream: the smallest of its lanes"
    for query in pipeline.queries:
        yield ""
        yield from _explain_query(query, pipeline)


def _explain_query(query: Query, pipeline: Pipeline) -> Iterator[str]:
    window = query.window
    range_us, slide_us = window.range_ or 0, window.slide
    per_record = -(-range_us // slide_us)
    shape = "tumbling" if range_us == slide_us else "sliding"
    yield f"{query.name}: {shape}, range {spell_us(range_us)}, slide {spell_us(slide_us)}"
    yield "  context: free (CF): the record alone tells its windows"
    yield f"  evaluated as: slices, pre-aggregated in the lane; a record is in {_upto(per_record)}"
    yield f"  key: {', '.join(query.group_by) or 'none: one row per window'}"
    slices = per_record * (2 if range_us % slide_us else 1)
    disorder = pipeline.source.disorder
    if isinstance(disorder, Slack):
        kept = slices - (-disorder.slack_us // slide_us)
        yield f"  state per key: about {kept} slices open per lane (range and slack, in slides)"
    else:
        yield f"  state per key: {slices} slices open per lane, and those between progress and now"
    yield f"  late: {_late(query)}"
    yield from _picture(range_us, slide_us)


def _progress(source: Source) -> str:
    """How a lane gets its bounds, in words."""
    time, newest = source.event_time.field, f"its largest {source.event_time.field} so far"
    match source.disorder:
        case Slack(slack_us):
            return newest + (f" - {spell_us(slack_us)}" if slack_us else "")
        case SlackRows(rows):
            return f"the smallest {time} of its {rows + 1} largest so far"
        case Heartbeat():
            return f"{newest}, less what its delays leave open, or what heartbeats have seen"
        case OrderedPer(attr):
            return f"the smallest newest {time} of its values of {attr}"
        case Adaptive(late, over_rows):
            return f"{newest} less the slack that had {late} of its last {over_rows} records late"
        case _:
            return "the largest bound of its control records"


def _upto(count: int) -> str:
    return "one window" if count == 1 else f"up to {count} windows"


def _late(query: Query) -> str:
    late = query.late
    if late.policy == "update":
        return (
            f"update, {late.mode}: revisions at epochs of {spell_us(late.every_us or 0)}, up to "
            f"{spell_us(query.retention_us or 0)} after a window's end, then dead letters"
        )
    outcome = {"drop": "counted and dropped", "dead_letter": "dead letters"}[late.policy]
    return f"{late.mode}: {outcome}; a row is sent once, when its window closes"


def _picture(range_us: int, slide_us: int) -> Iterator[str]:
    """The first windows, to scale, with clipped starts."""
    shown = 4
    span = max(range_us, slide_us) + (shown - 1) * slide_us
    for wid in range(shown):
        end = (wid + 1) * slide_us
        start = max(0, end - range_us)
        left, right = start * _WIDTH // span, max(end * _WIDTH // span, 1)
        bar = " " * left + "[" + "-" * max(right - left - 1, 0) + ")"
        begins = spell_us(start) if start else "0"
        yield f"  {wid:>3} {bar:<{_WIDTH + 2}} origin + {begins} … {spell_us(end)}"
