"""The engine under test, seen from outside, and inputs that set ticks, reports and picks apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import NamedTuple, Protocol, runtime_checkable

from windowing.research.engines.parameters import Domain, StreamTuple
from windowing.research.engines.simulation import SimulatedReport

Input = tuple["Size", Sequence[StreamTuple]]
"""Windows to ask for, and the tuples."""

Answer = Sequence[Sequence[Sequence[int]]]
"""For each tuple, the reports after it and before the next one, as lists of ids."""

Observed = tuple[tuple[tuple[int, ...], ...], ...]
"""For each tuple of an input, the contents reported after it and before the next one."""


class Size(NamedTuple):
    """The windows asked of an engine.

    Attributes:
        size: length of a window, w in formulas.
        slide: distance between two starts, b.
        first: application time of the first tuple, f.
    """

    size: int
    slide: int
    first: int

    def __str__(self) -> str:
        return f"size {self.size}, slide {self.slide}, first {self.first}"


class Refused(Exception):
    """An engine does not take windows of some size; the text says why, in its own words."""

    exit_code = 2


class Box(Protocol):
    """An engine with one source and one window operator that outputs its content."""

    def run(self, domain: Domain, asked: Size, stream: Sequence[StreamTuple], /) -> Answer:
        """Run tuples through a fresh engine.

        What only the shutdown of a live engine reports is left out: it is no answer to a tuple.

        Raises:
            Refused: the engine does not take such windows.
        """


@runtime_checkable
class ManyAtOnce(Protocol):
    """A box that runs many inputs in less time together than one by one."""

    def run_all(self, domain: Domain, inputs: Sequence[Input], /) -> Sequence[Answer]:
        """Run each input through a fresh engine, as `Box.run` does."""


def observed(reported: Iterable[SimulatedReport], stream: Sequence[StreamTuple]) -> Observed:
    """Return simulated reports as a box returns them; those at the end of input are left out."""
    after: dict[int | None, list[tuple[int, ...]]] = {}
    for report in reported:
        after.setdefault(report.arrival, []).append(report.content)
    return tuple(tuple(after.get(one.arrival, ())) for one in stream)


def ask(box: Box, domain: Domain, asked: Size, stream: Sequence[StreamTuple]) -> Observed:
    """Run one experiment on a box, as `ask_all` does."""
    return ask_all(box, domain, [(asked, stream)])[0]


def ask_all(box: Box, domain: Domain, inputs: Sequence[Input]) -> list[Observed]:
    """Run experiments on a box.

    Raises:
        Refused: it does not take windows of some size.
        ValueError: it did not answer for each tuple.
    """
    if isinstance(box, ManyAtOnce):
        answers = box.run_all(domain, inputs)
    else:
        answers = [box.run(domain, asked, stream) for asked, stream in inputs]
    return [_checked(answer, stream) for answer, (_, stream) in zip(answers, inputs, strict=True)]


def _checked(answer: Answer, stream: Sequence[StreamTuple]) -> Observed:
    if len(answer) != len(stream):
        msg = f"{len(answer)} answers to {len(stream)} tuples: a box answers once for each tuple"
        raise ValueError(msg)
    return tuple(tuple(tuple(content) for content in reports) for reports in answer)


_SIZES = (
    *(Size(3, 3, 1), Size(4, 2, 7), Size(5, 3, 10), Size(3, 5, 6)),
    *(Size(6, 1, 4), Size(7, 7, 2), Size(2, 3, 9), Size(8, 4, 3)),
)
SIZES = {
    Domain.time: (*_SIZES, Size(12, 1, 2)),
    Domain.tuple: (*_SIZES, Size(2, 7, 1)),
}
"""The windows that are asked for; first times differ modulo the slide."""


@dataclass(frozen=True, eq=False)  # known by identity: answers are cached by it
class Experiment:
    """One input for one size of windows."""

    name: str
    asked: Size
    stream: tuple[StreamTuple, ...]


@cache
def experiments(domain: Domain, asked: Size) -> tuple[Experiment, ...]:
    """Return the inputs for one size of windows."""
    w, b, f = asked
    burst = [f, f + 1, f + 2, *[f + 3] * (w + 2), f + 4, f + 5 + w, f + 5 + w + b]
    in_one_batch = [1, 2, 3, *[4] * (w + 2), 5, 6, 7]
    steady = range(f, f + 2 * w + 2 * b + 4)
    gap = _walk(f, 1, w + 3 * b + 1, 1, 2 * w + 1)
    streams = {
        "burst": _stream(burst),
        "burst in one batch": _stream(burst, in_one_batch),
        "batches": _stream(steady, [place // (w + b) + 1 for place in range(len(steady))]),
        "gap": _stream(gap),
        "silence": _stream([f, f + 1, f + w, f + w + b + 2]),
        "silence in a window": _stream([f + w // 2, f + w // 2, f + 2 * w + b + 2]),
        "steady": _stream(steady),
    }
    if domain is Domain.tuple:
        lengths = (*range(1, w + b + 3), w + 2 * b, 45, 45, 1)
        places = [place for place, length in enumerate(lengths) for _ in range(length)]
        streams["growing bursts"] = _stream(
            [f + place for place in places], [place + 1 for place in places]
        )
    return tuple(Experiment(name, asked, stream) for name, stream in streams.items())


@cache
def drawn(domain: Domain, number: int) -> Experiment:
    """Return a random experiment; the same for the same number."""
    chance = Random(f"{domain} {number}")
    asked = Size(chance.randint(1, 12), chance.randint(1, 12), chance.randint(0, 30))
    time, batch = asked.first, 1
    times, batches = [], []
    for _ in range(chance.randint(8, 40)):
        times.append(time)
        batches.append(batch)
        time += chance.choice([0, 0, 1, 1, 2, chance.randint(0, asked.size + 2 * asked.slide)])
        batch += chance.choice([0, 1])
    return Experiment(f"random {number}", asked, _stream(times, batches))


def _walk(first: int, *steps: int) -> list[int]:
    times = [first]
    for step in steps:
        times.append(times[-1] + step)
    return times


def _stream(times: Iterable[int], batches: Sequence[int] | None = None) -> tuple[StreamTuple, ...]:
    """Number tuples in order of arrival; without batches, each tuple has its own."""
    return tuple(
        StreamTuple(number, number, time, number if batches is None else batches[number - 1])
        for number, time in enumerate(times, start=1)
    )
