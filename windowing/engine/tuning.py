"""The thresholds behind which another way of computing lies. No row depends on any of them.

Where speed decides between two ways, or how much is done at once, the limit is a field here and is
read at each call: `tuning().exact_rows_max`. Its default was measured. The simulator draws it
small, so that logs of a few records take every way (`windowing/adr/0056`).

A *threshold of the run* decides what state holds: it has to stay the same for the life of a run,
so a new default needs a new format of state. All others may change whenever a process starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final

_INT64_MAX: Final = (1 << 63) - 1


@dataclass(frozen=True)
class AllowedValues:
    """Which values a threshold may have.

    Attributes:
        least, most: the smallest and the largest.
        power_of_two: whether it is a power of two, as the capacity of a hash table is.
        of_run: whether it has to stay the same for the life of a run.
    """

    least: int
    most: int
    power_of_two: bool
    of_run: bool

    def why_not(self, value: int) -> str | None:
        """Return what a value breaks; None: it is legal."""
        if not self.least <= value <= self.most:
            return f"from {self.least} to {self.most}"
        if self.power_of_two and value.bit_count() != 1:
            return "a power of two"
        return None


def _threshold(
    default: int,
    *,
    least: int = 1,
    most: int = _INT64_MAX,
    power_of_two: bool = False,
    of_run: bool = False,
) -> Any:
    legal = AllowedValues(least, most, power_of_two, of_run)
    return field(default=default, metadata={"legal": legal})


@dataclass(frozen=True)
class Tuning:
    """One value for each threshold.

    Raises:
        ValueError: one of them is not legal.
    """

    # --- reading records ---
    alike_from_values: int = _threshold(256)
    """So many values are worth looking for a shape that they have in common."""
    alike_samples: int = _threshold(32)
    """About so many values are asked first whether they are of the shape."""
    alike_percent: int = _threshold(75, least=0, most=100)
    """So many of the values asked must be of the shape, or none is read by it."""
    alike_bytes_max: int = _threshold((1 << 31) - 1, least=0, most=(1 << 31) - 1)
    """So many bytes can be read by a shape at once: a place in them has 31 bits."""
    alike_integer_digits: int = _threshold(18, most=18)
    """Longer integers are not of any shape: those of 18 digits fit into 64 bits."""
    alike_fraction_digits: int = _threshold(6, most=6)
    """Nor are times with longer fractions of a second."""
    exact_rows_max: int = _threshold(64)
    """So many rows are read one by one if one of them is doubtful; more are halved first."""

    # --- messages and state ---
    small_frame_bytes: int = _threshold(1 << 16, least=0)
    """Frames up to this size are not compressed."""
    compact_after_deltas: int = _threshold(8, least=0)
    """So many deltas are merged into the base, at the next step that reads them anyway."""
    compact_unread_times: int = _threshold(4)
    """So many times as many are merged at any step."""
    cold_from_rows: int = _threshold(10_000, least=0)
    """State of as many rows is divided by when it is due: a smaller one costs little to read."""

    # --- groups and aggregates ---
    compiled_from_rows: int = _threshold(256, least=0)
    """So many rows are worth a compiled loop: to load the first one takes half a second."""
    hash_slots: int = _threshold(1 << 12, power_of_two=True, most=1 << 30)
    """The slots that a hash table begins with; it grows before it is more than half full."""
    half_bits: int = _threshold(32, least=16, most=40, of_run=True)
    """The width of the lower half of an integer's sum; what does not fit is in the higher one."""
    whole_sum_bits: int = _threshold(62, least=0, most=62)
    """Sums of surely fewer bits are computed in 64 bits; others as integers of any size."""
    rolled_cells_per_listed: int = _threshold(8, least=0)
    """So many cells cost no more than one window that is listed for one slice."""

    # --- families ---
    share_from_queries: int = _threshold(32, least=2, of_run=True)
    """So many queries share slices: for a few it is hardly cheaper."""
    boundary_sets_max: int = _threshold(128, least=2, of_run=True)
    """So many sets of boundaries a family may have: each costs a step per record."""
    grid_cells_max: int = _threshold(1 << 21)
    """So many pairs of a grid and a slice are looked at together."""
    members_at_once_from: int = _threshold(2)
    """So many members of a family that are due are cheaper together than one by one."""
    due_windows_max: int = _threshold(1 << 24)
    """So many pairs of a window that is due and a key may be looked up together."""
    due_cells_free: int = _threshold(1 << 16, least=0)
    """So many cells of keys and slices are cheap for any number of states,"""
    due_cells_per_state: int = _threshold(16, least=0)
    """and so many more for each state cost no more than to look at it by itself."""
    due_cells_max: int = _threshold(1 << 22)
    """So many cells of keys, or late states, and windows are computed together."""

    # --- operators ---
    folded_tuples: int = _threshold(512)
    """So many tuples wait to be folded into a summary together."""
    ordered_values_per_change: int = _threshold(8)
    """With fewer ordered values for each change, sorting them anew is faster."""
    report_members_max: int = _threshold(4_000_000)
    """So many memberships of records in reports are computed together, and at least a report's."""

    # --- Spark's workers and state ---
    whole_value_bytes_max: int = _threshold(64 << 10, least=0, most=1 << 30)
    """Values up to this size travel whole from the JVM to Python,"""
    value_pieces: int = _threshold(16)
    """and larger ones in so many pieces. A topic's largest, by Kafka's default, fill them."""
    gathered_rows: int = _threshold(100_000)
    """So many rows of small Arrow batches are passed on as one,"""
    gathered_bytes: int = _threshold(64 << 20)
    """or so many bytes: most of what a stage does, it does once for each."""
    file_read_rows: int = _threshold(500_000)
    """So many rows of a file are read at once,"""
    file_packed_rows: int = _threshold(100_000)
    """and so many are packed at once."""
    scanned_rows: int = _threshold(500_000)
    """So many rows of a lane are scanned at once: fewer chunks mean fewer messages."""
    copied_from_bytes: int = _threshold(1 << 17, least=0)
    """Values of this size have copies on disk; smaller ones are fetched as fast as looked for."""
    kept_free_bytes: int = _threshold(16 << 20, least=0)
    """So much freed memory a worker keeps while a task runs,"""
    mapped_bytes: int = _threshold(32 << 20, least=0)
    """and arrays of this size are given back to the system at once."""

    # --- sinks ---
    inline_result_bytes: int = _threshold(1 << 20, least=0)
    """A task's results up to this size, in frames, go to the driver; larger ones are files."""
    statistics_text_max: int = _threshold(32, least=0)
    """So many characters of a text stand in a data file's statistics."""
    log_checkpoint_commits: int = _threshold(100)
    """After so many commits a checkpoint of a table's log is due, and at the earliest"""
    log_checkpoint_entries_per_commit: int = _threshold(10)
    """after one for so many of its entries: so its share in a commit's cost has a bound."""
    merged_file_bytes: int = _threshold(100 << 20)
    """Smaller data files are merged, to files of about this size,"""
    merge_tries: int = _threshold(5)
    """in so many attempts, if other writers change the same ones."""

    def __post_init__(self) -> None:
        for name, legal in LEGAL.items():
            value = getattr(self, name)
            if (why := legal.why_not(value)) is not None:
                msg = f"{name} is {value}, and has to be {why}"
                raise ValueError(msg)

    def changed(self) -> dict[str, int]:
        """Return the thresholds that do not have their default."""
        return {name: value for name, value in asdict(self).items() if value != _DEFAULTS[name]}


LEGAL: Final[dict[str, AllowedValues]] = {one.name: one.metadata["legal"] for one in fields(Tuning)}
"""Which values each threshold may have, by its name."""

_DEFAULTS: Final = {one.name: one.default for one in fields(Tuning)}
_current = Tuning()


def tuning() -> Tuning:
    """Return the thresholds of this process; loops read them once, before they begin."""
    return _current


@contextmanager
def tuned(**thresholds: int) -> Iterator[Tuning]:
    """Replace some thresholds of this process, for tests: no two threads may at once.

    Raises:
        ValueError: one of them is not legal.
    """
    global _current  # noqa: PLW0603 - one for the process, threads of Spark's callbacks included
    before = _current
    _current = replace(before, **thresholds)
    try:
        yield _current
    finally:
        _current = before
