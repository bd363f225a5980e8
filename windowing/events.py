"""EVENTS.jsonl: a log in a file, one event a line, in one possible order of arrival."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from windowing.control import ControlError, read_control
from windowing.errors import BrokenEnvelope
from windowing.pack import RawRows
from windowing.spec import Pipeline
from windowing.spec.lengths import INT64_MAX, INT64_MIN


@dataclass(frozen=True, slots=True)
class Event:
    """One record of the log, undecoded.

    Attributes:
        partition, offset: its place in the source.
        value: bytes of the value; None for a control record.
        control: JSON of the control record, or None.
        append_us: the broker's append time, or None.
    """

    partition: int
    offset: int
    value: bytes | None
    control: bytes | None
    append_us: int | None


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    source: str
    partition: int
    offset: int
    # The text of a value is kept as it is written: 5000 and 5000.0 are not the same value.
    value: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    raw: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    control: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    append_us: int | None = None


_decoder = msgspec.json.Decoder(_Line)


def read_events(path: Path, pipeline: Pipeline) -> Iterator[Event]:
    """Read a file of events.

    Raises:
        BrokenEnvelope: with the line number, for a line that is not an event of this pipeline.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield _event(line, pipeline)
            except (msgspec.MsgspecError, ControlError, ValueError) as error:
                msg = (
                    f"{path}:{number}: not an event: {error}; an example: "
                    '{"source":"flights","partition":0,"offset":0,"value":{"ts":1}}'
                )
                raise BrokenEnvelope(msg) from None


def _event(line: bytes, pipeline: Pipeline) -> Event:
    parsed = _decoder.decode(line)
    source = pipeline.source
    if parsed.source != source.topic or not 0 <= parsed.partition < source.partitions:
        msg = (
            f"source {parsed.source!r}, partition {parsed.partition}: the pipeline reads "
            f"{source.topic!r} with partitions 0 to {source.partitions - 1}"
        )
        raise ValueError(msg)
    if not 0 <= parsed.offset <= INT64_MAX:
        msg = f"offset {parsed.offset} is not an offset"
        raise ValueError(msg)
    if parsed.append_us is not None and not INT64_MIN <= parsed.append_us <= INT64_MAX:
        msg = f"append_us {parsed.append_us} does not fit 64 bits"
        raise ValueError(msg)
    value, control = _content(parsed)
    return Event(parsed.partition, parsed.offset, value, control, parsed.append_us)


def _content(line: _Line) -> tuple[bytes | None, bytes | None]:
    parts = [part for part in (line.value, line.raw, line.control) if part is not msgspec.UNSET]
    if len(parts) != 1:
        msg = "exactly one of value, raw, control must be given"
        raise ValueError(msg)
    if isinstance(line.control, msgspec.Raw):
        control = bytes(line.control)
        read_control(control)
        return None, control
    if isinstance(line.value, msgspec.Raw):
        return bytes(line.value), None
    text = json.loads(bytes(parts[0]))
    if not isinstance(text, str):
        msg = "raw must be a string"
        raise ValueError(msg)
    # A lone surrogate becomes bytes that are not UTF-8: a bad value, not a broken envelope.
    return text.encode("utf-8", "surrogatepass"), None


def batches(events: Iterable[Event], rows: int) -> Iterator[dict[int, RawRows]]:
    """Cut events into batches of at most `rows`, each by partition, in the order of arrival."""
    batch: list[Event] = []
    for event in events:
        batch.append(event)
        if len(batch) == rows:
            yield _by_partition(batch)
            batch = []
    if batch:
        yield _by_partition(batch)


def _by_partition(batch: list[Event]) -> dict[int, RawRows]:
    parts: dict[int, list[Event]] = {}
    for event in batch:
        parts.setdefault(event.partition, []).append(event)
    return {
        partition: RawRows(
            offsets=[event.offset for event in part],
            values=[event.value for event in part],
            controls=[event.control for event in part],
            append_us=[event.append_us for event in part],
        )
        for partition, part in parts.items()
    }


def interleave(events: Iterable[Event], seed: int) -> Iterator[Event]:
    """Shuffle events between lanes; inside each lane their order stays."""
    lanes: dict[int, list[Event]] = {}
    for event in events:
        lanes.setdefault(event.partition, []).append(event)
    turns = [partition for partition, lane in lanes.items() for _ in lane]
    random.Random(seed).shuffle(turns)
    queues = {partition: iter(lane) for partition, lane in lanes.items()}
    return (next(queues[partition]) for partition in turns)
