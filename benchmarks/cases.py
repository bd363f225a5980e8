"""The cases that are compared: which windows, over which events; count, sum and max per key."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.events import DELAY_MS_MAX, LANES, Load, Shape, dataset
from windowing.engine.plan import plan_of
from windowing.model import Pipeline, parse_pipeline

EVENTS = 10_000_000


@dataclass(frozen=True)
class Sliding:
    """Sliding windows, or tumbling ones if they slide by their range; in minutes."""

    range_min: int
    slide_min: int

    @property
    def clause(self) -> str:
        """The window in the words of a pipeline file."""
        return f"RANGE {self.range_min} minutes SLIDE {self.slide_min} minutes WATTR ts"


@dataclass(frozen=True)
class Sessions:
    """Sessions of records that are less than a gap apart, in milliseconds."""

    gap_ms: int

    @property
    def clause(self) -> str:
        """The window in the words of a pipeline file."""
        return f"SESSION {self.gap_ms // 1_000} seconds WATTR ts"


@dataclass(frozen=True)
class Case:
    """One comparison: all paths compute the same rows from the same bytes.

    Attributes:
        name: its key in the recorded results.
        title: what a reader of the table sees.
        from_topic: whether the events come from a Kafka topic and the rows go into a Delta table;
            else they come from files, and every row is read and discarded.
        shape: of the values.
    """

    name: str
    title: str
    window: Sliding | Sessions
    keys: int = 10_000
    events: int = EVENTS
    from_topic: bool = False
    shape: Shape = "flat"

    def data(self, folder: Path, events: int, batches: int) -> Path:
        """Return the folder of this case's events, written if it is not there yet.

        There are `events` of them, at the density of `EVENTS` in two hours, cut into `batches`.
        """
        return dataset(folder, Load.dense(events, batches, self.keys, self.shape))

    def small_data(self, folder: Path, events: int) -> Path:
        """Return the folder of a smaller, hard set over the same two hours, to compare results."""
        return dataset(folder, Load(events, batches=4, keys=self.keys, hard=True, shape=self.shape))


CASES = (
    Case("sliding_60_1", "sliding 60 / 1 min", Sliding(60, 1)),
    Case("sliding_10_1", "sliding 10 / 1 min", Sliding(10, 1)),
    Case("tumbling_1", "tumbling 1 min", Sliding(1, 1)),
    Case("session_30s", "sessions, gap 30 s", Sessions(30_000)),
    Case(
        "kafka_json_sliding_10_1",
        "Kafka to Delta, sliding 10 / 1 min",
        Sliding(10, 1),
        from_topic=True,
    ),
    Case(
        "kafka_nested_sliding_10_1",
        "Kafka to Delta, nested, filtered, derived, money, sliding 10 / 1 min",
        Sliding(10, 1),
        from_topic=True,
        shape="nested",
    ),
    Case("million_keys", "1 M keys, tumbling 1 min", Sliding(1, 1), keys=1_000_000),
)
CASE = {case.name: case for case in CASES}


_FLAT = """
  fields: {key: string, amount: int}"""
_NESTED = """
  fields: {customer.name: string, customer.country: string, order.price: "decimal(12,2)",
    order.quantity: int, paid: bool}
  derive:
    net: order.price * order.quantity
    market: upper(substr(customer.country, 1, 2))
  where: paid AND market <> 'XX'"""
_READING: dict[Shape, str] = {"flat": _FLAT, "nested": _NESTED}
_QUERY: dict[Shape, tuple[str, str, str]] = {
    "flat": ("key", "amount", "amount"),
    "nested": ("customer.name", "net", "order.price"),
}
"""The key, what is summed, and of what there is a maximum."""


def pipeline_of(case: Case, topic: str = "events") -> Pipeline:
    """Return a case as a pipeline over a topic."""
    key, summed, largest = _QUERY[case.shape]
    return parse_pipeline(
        f"""
name: benchmark
source:
  topic: {topic}
  partitions: {LANES}
  format: json
  event_time: {{field: ts, unit: ms}}{_READING[case.shape]}
  disorder: {{slack: {DELAY_MS_MAX // 1000} seconds}}
queries:
  windows:
    window: {case.window.clause}
    group_by: [{key}]
    aggregates: {{n: count, total: sum({summed}), largest: max({largest})}}
sink: {{table: benchmark}}
""",
        file="benchmark.yml",
    )


def is_fused(pipeline: Pipeline) -> bool:
    """Whether lanes need no separate stage, so that a new run has none, as a job's."""
    return plan_of(pipeline).why_lanes is None
