"""The engine under test, seen from outside, and what is observed of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
