"""A pipeline and its log, as files for a command."""

import json
from pathlib import Path

PIPELINE = """
name: small
source:
  topic: t
  partitions: 2
  format: json
  event_time: {field: ts, unit: us, max: "2000-01-01"}
  fields: {k: string, v: int}
  disorder: {slack: 5 us}
queries:
  tens: {window: RANGE 10 us SLIDE 10 us WATTR ts, group_by: [k], aggregates: {n: count}}
  gaps: {window: RANGE 3 us SLIDE 10 us WATTR ts, aggregates: {n: count, all: sum(v)}}
  lost: {window: RANGE 10 us SLIDE 10 us WATTR ts, aggregates: {n: count}, late: {policy: drop}}
"""


def event(partition: int, offset: int, value: object) -> str:
    return json.dumps({"source": "t", "partition": partition, "offset": offset, "value": value})


EVENTS = [
    event(0, 0, {"ts": 3, "k": "a", "v": 1}),
    event(1, 0, {"ts": 9, "k": "b", "v": 2}),
    event(0, 1, {"ts": 31, "k": "a", "v": 3}),
    event(0, 2, {"ts": 4, "k": "a", "v": 4}),
    event(0, 3, "bad"),
    event(1, 5, {"ts": 28, "k": "a", "v": 5}),
    json.dumps({"source": "t", "partition": 1, "offset": 6, "control": {"bound": 40}}),
]


def written(folder: Path, lines: list[str] | None = None) -> tuple[Path, Path]:
    """The files of the pipeline and of its log."""
    pipeline, events = folder / "p.yml", folder / "events.jsonl"
    pipeline.write_text(PIPELINE)
    events.write_text("".join(line + "\n" for line in EVENTS if lines is None))
    if lines is not None:
        events.write_text("".join(line + "\n" for line in lines))
    return pipeline, events
