"""Spark's notion of progress: one watermark for all lanes, advanced between batches."""

from __future__ import annotations

from dataclasses import dataclass, field

from windowing.engine.lane import Lane
from windowing.engine.plan import Plan
from windowing.engine.wids import NOTHING_YET


@dataclass
class Watermark:
    """A watermark that all lanes of a job share, and should not.

    Attributes:
        lanes: per partition, the progress that its lane last reported.
    """

    lanes: dict[int, int] = field(default_factory=dict)
    partitions: int = 1

    @property
    def stands_us(self) -> int:
        """The stream's current progress, which depends on how lanes interleave."""
        if len(self.lanes) < self.partitions:
            return NOTHING_YET
        return min(self.lanes.values())


class WatchingLane(Lane):
    """A lane that reports its progress to a watermark."""

    def __init__(self, plan: Plan, watermark: Watermark, partition: int) -> None:
        super().__init__(plan, partition)
        self.watermark = watermark

    def tell(self, partition: int, progress_us: int) -> None:
        """Report the lane's progress to the watermark."""
        held = self.watermark.lanes.get(partition, NOTHING_YET)
        self.watermark.lanes[partition] = max(held, progress_us)
