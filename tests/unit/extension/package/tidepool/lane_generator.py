"""The engine's half of a custom generator: a chunk of a lane in, a bound for each row out."""

import numpy as np
import polars as pl

from tidepool.generator import Shuffled
from windowing.engine.progress import OwnRecords, lane_generator


@lane_generator("shuffled")
class ShuffledLane(OwnRecords):
    """Remembers the last times; the list `memory` is part of the lane's state."""

    def __init__(self, data: Shuffled, lane: str) -> None:
        self._rows = data.rows

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> np.ndarray:
        """The bound after each record."""
        bounds = []
        for ts_us in records["ts_us"].to_list():
            memory[:] = [*memory, ts_us][-self._rows :]
            bounds.append(min(memory))
        return np.array(bounds, dtype=np.int64)
