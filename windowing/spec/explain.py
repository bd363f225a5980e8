"""What a pipeline means, in words and a picture, for people who are about to run it."""

from __future__ import annotations

from collections.abc import Iterator

from windowing.spec.lengths import spell_us
from windowing.spec.pipeline import Pipeline, Query

_WIDTH = 60


def explain(pipeline: Pipeline) -> Iterator[str]:
    """The lines of an explanation: lanes, then each query with its first windows to scale."""
    source = pipeline.source
    slack_us = source.disorder.slack_us
    lanes = f"{source.partitions} lane" + "s" * (source.partitions > 1)
    yield f"{pipeline.name}: topic {source.topic}, {lanes}, {pipeline.shards} shards"
    yield (
        f"  progress of a lane: its largest {source.event_time.field} so far"
        + (f" - {spell_us(slack_us)}" if slack_us else "")
        + "; of the stream: the smallest of its lanes"
    )
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
    slack_slices = -(-pipeline.source.disorder.slack_us // slide_us)
    kept = slices + slack_slices
    yield f"  state per key: about {kept} slices open per lane (range and slack, in slides)"
    yield f"  late: {_late(query)}"
    yield from _picture(range_us, slide_us)


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
