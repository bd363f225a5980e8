"""The engine under test, seen from outside, and what is observed of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from windowing.other_engines.parameters import Domain, StreamTuple
from windowing.other_engines.simulation import Reported

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


class Box(Protocol):
    """An engine with one source and one window operator that outputs its content."""

    def run(
        self, domain: Domain, asked: Size, stream: Sequence[StreamTuple], /
    ) -> Sequence[Sequence[Sequence[int]]]:
        """Run tuples through a fresh engine.

        What only the shutdown of a live engine reports is left out: it is no answer to a tuple.

        Returns:
            For each tuple, the reports after it and before the next one, as lists of ids.
        """


def observed(reported: Iterable[Reported], stream: Sequence[StreamTuple]) -> Observed:
    """Return simulated reports as a box returns them; those at the end of input are left out."""
    after: dict[int | None, list[tuple[int, ...]]] = {}
    for report in reported:
        after.setdefault(report.arrival, []).append(report.content)
    return tuple(tuple(after.get(one.arrival, ())) for one in stream)


def ask(box: Box, domain: Domain, asked: Size, stream: Sequence[StreamTuple]) -> Observed:
    """Run an experiment on a box.

    Raises:
        ValueError: the box did not answer for each tuple.
    """
    answer = tuple(
        tuple(tuple(content) for content in reports) for reports in box.run(domain, asked, stream)
    )
    if len(answer) != len(stream):
        msg = f"{len(answer)} answers to {len(stream)} tuples: a box answers once for each tuple"
        raise ValueError(msg)
    return answer
