"""A log with an end in every lane: what `--end` makes of a file that has none.

The ends are records as any other, behind the last one of each lane: engine, definition and every
reader take them for what the log says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from chaos.readers.log import EventsFileError, LogRecord
from windowing.model.control import sealed, signature
from windowing.model.source import Source
from windowing.semantics.controls import believed, read_control

_END: Final = b'{"end":true}'


class EndsNotBelieved(EventsFileError):
    """Ends that the pipeline would not believe."""


@dataclass
class _Lane:
    """What is known of a lane, as the definition knows it for signatures."""

    name: str
    counter: int = -1
    last: int = -1
    ended: bool = False


def with_ends(source: Source, log: Iterable[LogRecord]) -> Iterator[LogRecord]:
    """Yield the records of a log, then an end for each lane that has not ended.

    Where control records are signed, so are they.

    Raises:
        EndsNotBelieved: `source.control: none`.
        ControlKeyError: they are to be signed, and the secret is not there.
    """
    if any(part.control.believe == "none" for part in source.parts):
        msg = (
            "--end: source.control: none believes no end of a lane: let it be bounds, or leave "
            "--end out"
        )
        raise EndsNotBelieved(msg)
    lanes = {source.lane(number): _Lane(source.lane(number)) for number in range(source.partitions)}
    for record in log:
        lane = lanes.get(f"{record.source}/{record.partition}")
        if lane is not None:
            lane.last = max(lane.last, record.offset)
            if record.control is not None:
                _note(source, record.control, lane)
        yield record
    for number, lane in enumerate(lanes.values()):
        if not lane.ended:
            part, partition = source.place(number)
            yield LogRecord(part.topic, partition, lane.last + 1, None, _end(part, lane), None)


def _note(source: Source, control: bytes, lane: _Lane) -> None:
    number = source.number(*_place(lane.name))
    part, _ = source.place(number or 0)
    body = believed(part.control, source.founding, control, lane)
    lane.ended = lane.ended or (body is not None and read_control(body) == "end")


def _place(name: str) -> tuple[str, int]:
    topic, _, partition = name.rpartition("/")
    return topic, int(partition)


def _end(part: Source, lane: _Lane) -> bytes:
    secret = part.control.secret
    if secret is None:
        return _END
    counter = lane.counter + 1
    return sealed(_END, signature(secret, lane.name, counter, _END), b"%d" % counter)
