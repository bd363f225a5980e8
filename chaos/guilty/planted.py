"""Lanes with something planted in them, made the way `Parts` wants it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from windowing.assign.sliding import SlidingAssigner
from windowing.lane import Lane
from windowing.spec.pipeline import Pipeline


class PlantedLane(Lane):
    """A lane whose assigners are of another class.

    Attributes:
        assigner: the class.
    """

    assigner: ClassVar[type[SlidingAssigner]] = SlidingAssigner

    def __init__(self, pipeline: Pipeline, partition: int) -> None:
        super().__init__(pipeline, partition)
        self._assigners = {query.name: self.assigner(query, pipeline) for query in pipeline.queries}


@dataclass(frozen=True)
class planted_lanes:  # noqa: N801 - called like the function `parts.lanes`; a class to be picklable
    """Makes what makes the lanes of a pipeline.

    Attributes:
        kind: the class of the lanes.
    """

    kind: type[Lane]

    def __call__(self, pipeline: Pipeline) -> Callable[[int], Lane]:
        """What makes the lane of a partition."""
        return partial(self.kind, pipeline)
