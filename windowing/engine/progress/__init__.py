"""Generators of progress: records in, bounds out.

A generator looks at the records of one lane and returns, after each, a bound: it promises that no
record below it follows. A lane's progress is the running maximum of the bounds; nothing else in the
runtime knows how disorder is handled.
"""

from __future__ import annotations

from windowing.engine.progress import generators  # noqa: F401 - they register themselves
from windowing.engine.progress.generator import (
    LANE_GENERATORS,
    MEMORYLESS,
    Generator,
    OwnRecords,
    lane_generator,
)
from windowing.model.progress import Disorder

__all__ = ["Generator", "OwnRecords", "generator_of", "is_memoryless", "lane_generator"]


def generator_of(disorder: Disorder, lane: str) -> Generator:
    """Return the generator of one lane.

    Raises:
        PluginError: a plug-in lacks the engine's half; or this cannot be imported, or rejects the
            settings.
    """
    return LANE_GENERATORS.required(disorder.name)(disorder.data, lane)


def is_memoryless(disorder: Disorder) -> bool:
    """Whether bounds follow from each record alone, so that chunks can be read apart.

    Never so for plug-ins, which planning does not import.
    """
    return disorder.name in MEMORYLESS and not LANE_GENERATORS.declares(disorder.name)
