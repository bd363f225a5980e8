"""A compacted topic is accepted by name; what is computed, and so a checkpoint, stays the same."""

from windowing.model import parse_pipeline

PIPELINE = """
name: p
source: {{topic: t, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
  fields: {{v: int}}, disorder: ordered{more}}}
queries: {{q: {{window: RANGE 1 s SLIDE 1 s WATTR ts, aggregates: {{n: count}}}}}}
"""


def test_accepting_a_compacted_topic_is_no_other_pipeline() -> None:
    plain, accepted = (parse_pipeline(PIPELINE.format(more=m)) for m in ("", ", compacted: true"))
    assert not plain.source.compacted
    assert accepted.source.compacted
    assert plain.fingerprint == accepted.fingerprint
    dense = parse_pipeline(PIPELINE.format(more=", dense: true"))
    assert dense.fingerprint != plain.fingerprint
