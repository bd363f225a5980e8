"""Time zones as data: a zone's name with its table of transitions.

A zone's rules change: a run must go by those that it began with. So nothing here asks the machine
what a zone is; a `Zone` carries its table.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from zoneinfo import ZoneInfo

from windowing.model.errors import meant, shown


@dataclass(frozen=True)
class Zone:
    """A time zone.

    Attributes:
        name: as in the tz database, `Europe/Berlin`.
        table: its transitions, as a TZif file (RFC 9636).
    """

    name: str
    table: bytes = field(repr=False)

    def __str__(self) -> str:
        return self.name

    @property
    def info(self) -> ZoneInfo:
        """The zone for Python's datetimes."""
        return _info(self)


@cache
def _info(zone: Zone) -> ZoneInfo:
    return ZoneInfo.from_file(io.BytesIO(zone.table), key=zone.name)


@cache
def installed_zone(name: object) -> Zone:
    """Return a zone as the installed tz database (PyPI's tzdata) has it.

    Raises:
        ValueError: it has none of that name.
    """
    if isinstance(name, str) and name in zones():
        file = resources.files("tzdata").joinpath("zoneinfo", *name.split("/"))
        return Zone(name, file.read_bytes())
    close = meant(name, zones()) or ": write one such as 'Europe/Berlin' or 'UTC'"
    why = "there is not a zone of that name in the tz database"
    raise ValueError(f"{shown(name)} is not a time zone, as {why}{close}")


@cache
def zones() -> frozenset[str]:
    """Return the names of all time zones."""
    return frozenset(resources.files("tzdata").joinpath("zones").read_text("ascii").split())
