"""Heartbeats: bounds for silent (idle) partitions, written into those partitions.

A silent partition holds the whole stream back. The known delays of its records – transit takes
between l and L, and the source's clock is off by up to s – limit the age of records that may still
arrive. The emitter watches all partitions and writes the resulting bounds into the silent ones as
control records, so that conclusions from silence are facts of the log too.

Source: Srivastava and Widom, "Flexible Time Management in Data Stream Systems", PODS 2004.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import polars as pl
from kafka import TopicPartition
from kafka.errors import KafkaError

from jobs.brokers.broker import BrokerError, broker_error
from jobs.brokers.broker import consumer as make_consumer
from jobs.brokers.producing import Message, Signer, control_of, send_all
from jobs.brokers.topics import lane_ends
from windowing.engine.columns import KIND, TIME
from windowing.engine.reading.control import Control, ControlError, Gate, read_control
from windowing.engine.reading.pack import DATA, RawRows, pack
from windowing.engine.reading.rules import ValueRules
from windowing.model import Pipeline
from windowing.model.lengths import INT64_MIN
from windowing.model.metadata import Metadata, carried
from windowing.model.progress import Delays, Heartbeat
from windowing.model.source import Source

_LOOK_BACK = 1_000
_LOG_APPEND_TIME = 1
_STALL_S = 30.0


class HeartbeatError(ValueError):
    """Unknown or contradictory delays of a partition."""

    exit_code = 2


@dataclass(frozen=True)
class Beat:
    """A bound for one silent partition.

    Attributes:
        lane: its number.
        silent_us: how long it has been silent; None: always.
        bound_us: lower bound for all following records.
        control: the control record that states it, as JSON.
    """

    lane: int
    silent_us: int | None
    bound_us: int
    control: str


@dataclass
class PartitionFacts:
    """The observed facts about the partitions of a source's topics.

    Attributes:
        newest_us: per lane, by number, the largest event time of its valid records.
        heard_us: per lane, when its last valid record was appended.
        ended: lanes that have ended.
    """

    newest_us: dict[int, int] = field(default_factory=dict)
    heard_us: dict[int, int] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)


def clock_us() -> int:
    """Return this machine's time in microseconds since 1970."""
    return time.time_ns() // 1_000


def delays_of(pipeline: Pipeline, given: Delays | None) -> dict[str, Delays]:
    """Return every lane's delays: from the pipeline's heartbeats, or as given for all.

    Raises:
        HeartbeatError: neither states them, or both do; or nobody would believe a heartbeat.
    """
    if pipeline.source.control.believe == "none":
        msg = "source.control: none: nobody would believe a heartbeat: write control: bounds"
        raise HeartbeatError(msg)
    disorder = pipeline.source.disorder
    if isinstance(disorder, Heartbeat) == (given is not None):
        rule = (
            "the pipeline states its delays: leave out --max-delay, --min-delay and --skew"
            if given
            else "the pipeline's generator is not heartbeat: state the delay with --max-delay 5s"
        )
        raise HeartbeatError(rule)
    if isinstance(disorder, Heartbeat):
        return dict(disorder.sources)
    assert given is not None  # noqa: S101 - one of the two is there
    source = pipeline.source
    return {source.lane(partition): given for partition in range(source.partitions)}


def beats(
    pipeline: Pipeline,
    delays: dict[str, Delays],
    seen: PartitionFacts,
    *,
    now_us: int,
    silent_us: int,
    by_clock: bool = True,
) -> list[Beat]:
    """Compute bounds for all partitions that have been silent for longer than `silent_us`.

    Args:
        delays: delays of every lane.
        seen: what was read from the topic before `now_us`.
        silent_us: how long a partition must have been silent.
        by_clock: also derive bounds from the wall clock; else only from other partitions' records.
    """
    source = pipeline.source
    newest = {source.lane(number): ts_us for number, ts_us in seen.newest_us.items()}
    # Cap at the largest valid time: larger bounds would be rejected.
    until_us = min(now_us, source.event_time.end_us)
    known = Control(now_us=until_us if by_clock else None, seen_us=newest)
    reached_us = known.reached_us(delays)
    if reached_us is None:
        return []
    said: dict[str, Any] = {"seen": newest}
    if by_clock:
        said = {"now": until_us, **said}
    longest = source.control.bytes_max(source.founding, change=False)
    found = []
    for number in range(source.partitions):
        heard_us = seen.heard_us.get(number)
        silent = None if heard_us is None else now_us - heard_us
        if number in seen.ended or (silent is not None and silent <= silent_us):
            continue
        way = delays[source.lane(number)]
        bound_us = reached_us - way.max_delay_us - way.skew_us
        bound_us = min(max(bound_us, INT64_MIN), source.event_time.end_us)
        if not isinstance(source.disorder, Heartbeat):
            said = {"bound": bound_us}
        control = _spelled(said, longest, delays)
        found.append(Beat(number, silent, bound_us, control))
    return found


def _spelled(said: dict[str, Any], longest: int, delays: dict[str, Delays]) -> str:
    """Return a heartbeat as JSON, with as many lanes as it has room for: the furthest of them."""
    control = json.dumps(said, separators=(",", ":"))
    while len(control) > longest:
        seen: dict[str, int] = said["seen"]
        known = sorted(seen, key=lambda lane: seen[lane] + delays[lane].min_delay_us, reverse=True)
        said = {**said, "seen": {lane: seen[lane] for lane in known[: len(known) // 2]}}
        control = json.dumps(said, separators=(",", ":"))
    return control


class Watch:
    """Reads the records of a source's topics as they arrive.

    Args:
        consumer: one that joins no group.
    """

    def __init__(self, pipeline: Pipeline, consumer: Any) -> None:
        self.seen = PartitionFacts()
        lanes = range(pipeline.source.partitions)
        self._rules = [ValueRules.of(pipeline, number) for number in lanes]
        self._gates = [Gate.of(pipeline, number) for number in lanes]
        self._consumer, self._source = consumer, pipeline.source
        places = map(pipeline.source.place, lanes)
        self._lanes = [TopicPartition(part.topic, partition) for part, partition in places]
        consumer.assign(self._lanes)
        self._begin()

    def catch_up(self) -> None:
        """Read what has arrived."""
        self._read_to(self._consumer.end_offsets(self._lanes))

    def _begin(self) -> None:
        """Start near the ends; further back if there are only control records."""
        firsts = self._consumer.beginning_offsets(self._lanes)
        ends = self._consumer.end_offsets(self._lanes)
        behind, back = list(self._lanes), _LOOK_BACK
        while behind:
            for lane in behind:
                self._consumer.seek(lane, max(firsts[lane], ends[lane] - back))
            self._read_to(ends)
            behind = [
                lane
                for lane in behind
                if self._number(lane) not in self.seen.heard_us and ends[lane] - back > firsts[lane]
            ]
            back *= 10

    def _read_to(self, ends: dict[Any, int]) -> None:
        moved_s = time.monotonic()
        while any(self._consumer.position(lane) < end for lane, end in ends.items()):
            for lane, records in self._consumer.poll(timeout_ms=500).items():
                moved_s = time.monotonic()
                self._take(self._number(lane), records)
            if time.monotonic() - moved_s > _STALL_S:
                msg = f"the topic's end was not reached: nothing came for {_STALL_S:g} s"
                raise BrokerError(msg)

    def _number(self, lane: TopicPartition) -> int:
        number = self._source.number(lane.topic, lane.partition)
        assert number is not None  # noqa: S101 - no others are read
        return number

    def _take(self, number: int, records: Sequence[Any]) -> None:
        """Take records of one lane, in their order."""
        data = list[Any]()
        for record in records:
            control = control_of(record.headers)
            if control is None:
                data.append(record)
                continue
            body = self._gates[number].open(control).body
            if body is not None and _ends(body):
                self.seen.ended.add(number)
        if data:
            self._take_data(number, data)

    def _take_data(self, number: int, records: Sequence[Any]) -> None:
        at_us = pl.Series([record.timestamp * 1_000 for record in records])
        appended = pl.Series([record.timestamp_type == _LOG_APPEND_TIME for record in records])
        rules = self._rules[number]
        own = [Metadata(r.key, r.timestamp * 1_000, tuple(r.headers)) for r in records]
        rows = RawRows(
            [record.offset for record in records],
            [record.value for record in records],
            [None] * len(records),
            at_us.set(~appended, None),
            {name: [one.carried(name) for one in own] for name in carried(rules.metadata)},
        )
        chunk = pack(rows, rules)
        # Bad values do not advance progress: their lane is still silent.
        good = chunk[KIND] == DATA
        if good.any():
            self._advance(self.seen.newest_us, number, chunk[TIME].filter(good))
            self._advance(self.seen.heard_us, number, at_us.filter(good))

    @staticmethod
    def _advance(instants_us: dict[int, int], number: int, found_us: pl.Series) -> None:
        newest_us = max(found_us.to_list())
        instants_us[number] = max(newest_us, instants_us.get(number, newest_us))


def messages_of(beats: Sequence[Beat], source: Source, signer: Signer) -> dict[str, list[Message]]:
    """Return what is to be written for heartbeats, by topic."""
    found: dict[str, list[Message]] = {}
    for beat in beats:
        part, partition = source.place(beat.lane)
        signed = signer.signed(source.lane(beat.lane), beat.control)
        found.setdefault(part.topic, []).append((partition, b"", signed))
    return found


def _ends(control: bytes) -> bool:
    try:
        return read_control(control).end
    except ControlError:
        return False  # For a job it is a dead letter.


@contextmanager
def watching(pipeline: Pipeline, bootstrap: str) -> Iterator[Watch]:
    """Provide a watch over a pipeline's topics.

    Raises:
        BrokerError, TopicError: no broker answers, or a topic or a partition does not exist.
        HeartbeatError: a topic lacks partitions.
    """
    found = [*map(pipeline.source.place, lane_ends(bootstrap, pipeline.source))]
    for part in pipeline.source.parts:
        there = sum(one.topic == part.topic for one, _ in found)
        if there != part.partitions:
            msg = (
                f"topic {part.topic!r} has {there} partitions, the pipeline declares "
                f"{part.partitions}: correct the file"
            )
            raise HeartbeatError(msg)
    consumer = make_consumer(bootstrap)
    try:
        yield Watch(pipeline, consumer)
    except KafkaError as error:
        raise broker_error(bootstrap, error, "read", pipeline.source.topic) from error
    finally:
        consumer.close()


def emit(
    pipeline: Pipeline,
    bootstrap: str,
    delays: dict[str, Delays],
    *,
    silent_us: int,
    every_s: float | None,
    stop: Event,
    on_beat: Callable[[Beat], None],
    by_clock: bool = True,
    clock: Callable[[], int] = clock_us,
) -> int:
    """Write heartbeats until asked to stop; return how many.

    A bound that does not exceed the last one of its partition is not written.

    Args:
        delays: delays of every lane.
        silent_us: how long a partition must have been silent.
        every_s: seconds between two checks; None: check once.
        stop: set it to end the loop.
        on_beat: called with each bound that was written.
        by_clock: whether to derive bounds from the wall clock too.
        clock: the clock, in microseconds.

    Raises:
        BrokerError, TopicError, HeartbeatError: a topic cannot be read or written.
    """
    last: dict[int, int] = {}
    written, source, signer = 0, pipeline.source, Signer(pipeline.source.control)
    with watching(pipeline, bootstrap) as watch:
        while not stop.is_set():
            # The clock is read before the topic: silence must not come from reading for long.
            now_us = clock()
            watch.catch_up()
            due = [
                beat
                for beat in beats(
                    pipeline,
                    delays,
                    watch.seen,
                    now_us=now_us,
                    silent_us=silent_us,
                    by_clock=by_clock,
                )
                if beat.bound_us > last.get(beat.lane, INT64_MIN)
            ]
            if due:
                for topic, messages in messages_of(due, source, signer).items():
                    written += send_all(bootstrap, topic, messages)
            for beat in due:
                last[beat.lane] = beat.bound_us
                on_beat(beat)
            if every_s is None:
                break
            stop.wait(every_s)
    return written
