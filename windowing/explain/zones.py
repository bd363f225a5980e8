"""What is said of zones that a run knows otherwise than the machine does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from windowing.engine.zones import first_difference
from windowing.model.lengths import spell_instant
from windowing.model.zones import Zone, installed_zone

_SECOND_US: Final = 1_000_000


def of_other_tables(run: str, kept: Mapping[str, Zone]) -> list[str]:
    """Return a line for each zone whose installed table is not the run's.

    Args:
        kept: the run's zones, by name.
    """
    return [line for zone in kept.values() if (line := _of_other_table(run, zone)) is not None]


def _of_other_table(run: str, kept: Zone) -> str | None:
    try:
        installed = installed_zone(kept.name)
    except ValueError:
        return (
            f"zone {kept}: run {run} goes by the table that it began with, and no zone of that "
            "name is installed now: name another one before you submit a new run"
        )
    found = first_difference(kept, installed)
    if found is None:
        return None
    instant_us, ours, theirs = found
    return (
        f"zone {kept}: run {run} goes by the table that it began with, and the installed one "
        f"differs from {spell_instant(instant_us)} on: {_offset(ours)} in the run, "
        f"{_offset(theirs)} installed; a new run takes the installed one"
    )


def _offset(us: int) -> str:
    """Return an offset from UTC, with seconds if it has some."""
    minutes, seconds = divmod(abs(us) // _SECOND_US, 60)
    more = f":{seconds:02}" if seconds else ""
    return f"{'-' if us < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}{more}"
