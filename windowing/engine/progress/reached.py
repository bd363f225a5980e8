"""The progress of lanes, and of the units whose windows it closes.

Every lane reports its progress to a shard, by each clock. The progress of its unit closes a window:
that of the stream, of a key if progress is per key, or a number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import msgspec
import numpy as np
import polars as pl

from windowing.engine.columns import KEY_BOUND, PARTITION
from windowing.engine.wids import ENDED, NOTHING_YET, Ints
from windowing.model.run_errors import ArrivalOrder


class LaneProgress(msgspec.Struct, array_like=True):
    """One lane's progress by one clock.

    Attributes:
        progress_us: the running maximum of its bounds; `NOTHING_YET` before the first, `ENDED`
            after the lane's end.
        furthest_us: the largest finite progress; unlike `progress_us` it survives the end.
        newest_us: the largest value of any record; `NOTHING_YET` before the first.
    """

    progress_us: int = NOTHING_YET
    furthest_us: int = NOTHING_YET
    newest_us: int = NOTHING_YET

    def merge(self, other: LaneProgress) -> LaneProgress:
        """Return the maximum of two reports of the same lane, field by field."""
        return LaneProgress(
            max(self.progress_us, other.progress_us),
            max(self.furthest_us, other.furthest_us),
            max(self.newest_us, other.newest_us),
        )


def spelled(progress_us: int) -> str:
    """Return progress as errors name it."""
    return {NOTHING_YET: "nothing yet", ENDED: "its end"}.get(progress_us, str(progress_us))


class Progress(Protocol):
    """The progress of the units of windows, as reported to one shard.

    Results are columns: one number per row of a frame of units, or a single one for all of them.
    """

    @property
    def highest(self) -> int:
        """The largest progress of any unit."""

    def of(self, units: pl.DataFrame) -> Ints:
        """Return the progress of each row's unit."""

    def furthest(self, units: pl.DataFrame) -> Ints:
        """Return the largest finite progress of any lane for each row's unit."""

    def newest(self, units: pl.DataFrame) -> Ints:
        """Return the largest known value of any record of the stream, or of the unit."""


@dataclass(frozen=True)
class StreamProgress:
    """Progress by an attribute of the records: the smallest over the lanes.

    Attributes:
        lanes: every lane of the source, by partition; lanes without reports hold the stream back.
        key: the column of the key that has progress; None: only lanes do.
        keys: the `bound` by key and `partition`; None: none.
    """

    lanes: Sequence[LaneProgress]
    key: str | None = None
    keys: pl.DataFrame | None = None

    @cached_property
    def stream_us(self) -> int:
        """The progress of the stream, without bounds for single keys."""
        return min(lane.progress_us for lane in self.lanes)

    @property
    def highest(self) -> int:
        """The largest progress of any unit."""
        if self._by_key is None:
            return self.stream_us
        of_keys = self._by_key["progress"].to_numpy()
        return int(of_keys.max(initial=self.stream_us))

    def of(self, units: pl.DataFrame) -> Ints:
        """Return the progress of each row's unit: P, or P_k of its key."""
        return self._column(units, "progress", self.stream_us)

    def furthest(self, units: pl.DataFrame) -> Ints:
        """Return the largest finite progress of any lane for each row's unit."""
        return self._column(units, "furthest", max(lane.furthest_us for lane in self.lanes))

    def newest(self, units: pl.DataFrame) -> Ints:
        """Return the largest value of any record of the stream."""
        del units
        return np.array([max(lane.newest_us for lane in self.lanes)])

    @cached_property
    def _by_key(self) -> pl.DataFrame | None:
        """Return P_k = min over the lanes of max(P_p, Q_pk), for each key with a bound."""
        if self.key is None or self.keys is None:
            return None
        names = self.keys.select(self.key).unique(maintain_order=True).with_row_index("row")
        placed = self.keys.join(names, on=self.key, nulls_equal=True)
        promised = np.full((len(names), len(self.lanes)), NOTHING_YET)
        promised[placed["row"].to_numpy(), placed[PARTITION].to_numpy()] = placed[KEY_BOUND]
        lanes = np.array([lane.progress_us for lane in self.lanes])
        furthest = max(lane.furthest_us for lane in self.lanes)
        return names.select(
            self.key,
            progress=pl.Series(np.maximum(promised, lanes).min(axis=1)),
            furthest=pl.Series(np.maximum(promised.max(axis=1), furthest)),
        )

    def _column(self, units: pl.DataFrame, name: str, default: int) -> Ints:
        if self._by_key is None:
            return np.array([default])
        return looked_up(units, self._by_key, name, default)


@dataclass(frozen=True)
class ProgressOfLanes:
    """Progress of some of a stream's lanes, without keys: only these hold rows back.

    Attributes:
        stream: of all lanes.
        numbers: which lanes.
    """

    stream: StreamProgress
    numbers: Sequence[int]

    @cached_property
    def _own(self) -> StreamProgress:
        # A lane that is being added has no progress yet.
        lanes = enumerate(self.stream.lanes)
        return StreamProgress([lane for number, lane in lanes if number in self.numbers])

    @property
    def highest(self) -> int:
        """The progress of these lanes."""
        return self._own.stream_us

    def of(self, units: pl.DataFrame) -> Ints:
        """Return the progress of these lanes."""
        return self._own.of(units)

    def furthest(self, units: pl.DataFrame) -> Ints:
        """Return the largest finite progress of any of these lanes."""
        return self._own.furthest(units)

    def newest(self, units: pl.DataFrame) -> Ints:
        """Return the largest value of any record of these lanes."""
        return self._own.newest(units)


@dataclass(frozen=True)
class AllEnded:
    """Progress as it would be if all lanes ended now."""

    now: Progress

    @property
    def highest(self) -> int:
        """The largest progress of any unit."""
        return ENDED

    def of(self, units: pl.DataFrame) -> Ints:
        """Return the end for all units."""
        del units
        return np.array([ENDED])

    def furthest(self, units: pl.DataFrame) -> Ints:
        """Return the actual value."""
        return self.now.furthest(units)

    def newest(self, units: pl.DataFrame) -> Ints:
        """Return the actual value."""
        return self.now.newest(units)


@dataclass(frozen=True)
class RowProgress:
    """Progress by number of rows: the records of a unit, in the one lane that carries it.

    Attributes:
        counts: the number by unit, as `bound`; None: the stream is the only unit.
        total: the number in the stream, if it is the only unit.
    """

    counts: pl.DataFrame | None
    total: int
    ended: bool

    @classmethod
    def of_lanes(
        cls, lanes: Sequence[LaneProgress], key: str | None, keys: pl.DataFrame | None, what: str
    ) -> RowProgress:
        """Build the progress from the lanes' numbers.

        Args:
            key: the column of PATTR, or None.
            keys: by unit and `partition`, how many of its records the lane has.
            what: the name of PATTR, for messages.

        Raises:
            ArrivalOrder: two lanes have records of one unit.
        """
        ended = all(lane.progress_us == ENDED for lane in lanes)
        counts = [lane.furthest_us for lane in lanes]
        carriers = [number for number, count in enumerate(counts) if count > 0]
        if len(carriers) > 1:
            raise _arrival_order("the stream", carriers)
        if key is None or keys is None:
            return cls(None, max(0, *counts), ended)
        several = keys.filter(pl.len().over(key) > 1)
        if len(several):
            unit = several[key][0]
            of_unit = several.filter(pl.col(key).eq_missing(pl.lit(unit, dtype=several[key].dtype)))
            raise _arrival_order(f"{what} {unit!r}", sorted(of_unit[PARTITION].to_list()))
        return cls(keys.select(key, KEY_BOUND), 0, ended)

    @property
    def highest(self) -> int:
        """The largest progress of any unit."""
        if self.ended:
            return ENDED
        if self.counts is None:
            return self.total
        return int(self.counts[KEY_BOUND].to_numpy().max(initial=0))

    def of(self, units: pl.DataFrame) -> Ints:
        """Return how many rows each row's unit has; `ENDED` once nothing follows."""
        return np.array([ENDED]) if self.ended else self.furthest(units)

    def furthest(self, units: pl.DataFrame) -> Ints:
        """Return how many rows each row's unit has."""
        if self.counts is None:
            return np.array([self.total])
        return looked_up(units, self.counts, KEY_BOUND, 0)

    def newest(self, units: pl.DataFrame) -> Ints:
        """Return the number of the last row of each row's unit."""
        return self.furthest(units) - 1


def _arrival_order(unit: str, partitions: Sequence[int]) -> ArrivalOrder:
    lanes = " and ".join(map(str, partitions))
    return ArrivalOrder(
        f"{ArrivalOrder.code}: rows are counted in the order of arrival, and {unit} arrives in "
        f"partitions {lanes}: key the topic by PATTR, or use ORDER event_time"
    )


def looked_up(units: pl.DataFrame, table: pl.DataFrame, name: str, default: int) -> Ints:
    """Look a column of `table` up for each row of `units`, by their other common columns."""
    by = [column for column in table.columns if column in units.columns and column != name]
    joined = units.select(by).join(
        table.select(*by, name), on=by, how="left", nulls_equal=True, maintain_order="left"
    )
    found: Ints = joined[name].fill_null(default).to_numpy()
    return found


def per_row(values: Ints) -> pl.Expr | pl.Series:
    """Turn numbers, one per row or one for all rows, into an expression."""
    return pl.lit(int(values[0]), dtype=pl.Int64) if len(values) == 1 else pl.Series(values)


def stamped(frame: pl.DataFrame, **progress: Progress) -> pl.DataFrame:
    """Add the progress of each row's unit to a frame, in columns of these names."""
    return frame.with_columns(**{name: per_row(p.of(frame)) for name, p in progress.items()})
