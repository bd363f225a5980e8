"""Inputs for models: as a list of times, or as a file in the format of the sources' simulator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from windowing.research.engines.parameters import StreamTuple


class StreamError(ValueError):
    """An input that breaks a rule of the model."""

    exit_code = 2


def stream_of_times(text: str) -> list[StreamTuple]:
    """Return tuples with these application times, each in its own batch.

    Args:
        text: integers between commas.

    Raises:
        StreamError: a part is not an integer, or a time is smaller than the one before it.
    """
    times = [_integer(part, "a time") for part in text.split(",")]
    tuples = [StreamTuple(number, number, time, number) for number, time in enumerate(times, 1)]
    return _checked(tuples)


def parse_stream(lines: Iterable[str]) -> list[StreamTuple]:
    """Return the tuples of a file: `arrival,id,time,batch` in each line that is not blank.

    Raises:
        StreamError: a line has another number of fields, or its values break a rule.
    """
    return _checked([*_parsed(lines)])


def _parsed(lines: Iterable[str]) -> Iterator[StreamTuple]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        parts = line.split(",")
        if len(parts) != len(StreamTuple._fields):
            msg = f"line {number}: {line.strip()!r} has not four fields: arrival,id,time,batch"
            raise StreamError(msg)
        yield StreamTuple(*(_integer(part, f"line {number}: a field") for part in parts))


def _integer(text: str, what: str) -> int:
    try:
        return int(text)
    except ValueError:
        msg = f"{what} is an integer, not {text.strip()!r}: write numbers between commas"
        raise StreamError(msg) from None


def _checked(tuples: list[StreamTuple]) -> list[StreamTuple]:
    """Return tuples whose arrivals and ids rise, and whose times and batches do not fall."""
    for before, after in pairwise(tuples):
        rising = after.arrival > before.arrival and after.number == before.number + 1
        if not rising or after.time < before.time or after.batch < before.batch:
            msg = (
                f"{tuple(after)} cannot follow {tuple(before)}: arrivals rise, ids are "
                "consecutive, times and batches never fall"
            )
            raise StreamError(msg)
    if tuples and tuples[0].number != 1:
        msg = f"the first tuple has id {tuples[0].number}: ids begin with 1"
        raise StreamError(msg)
    return tuples
