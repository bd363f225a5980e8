"""Time zones as data: a zone's name with its table of transitions.

A zone's rules change: a run must go by those that it began with. So whatever has a zone has a
`Zone`, which carries its table; only who reads a pipeline file asks what a name means
(`zone_named`), and is answered by the tables that the file has, before those that are installed
(`adr/0067`).
"""

from __future__ import annotations

import io
import struct
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Final
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

    @property
    def spelled(self) -> str:
        """Its table as a pipeline file has it, for `read_table`."""
        return b64encode(self.table).decode()


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
def utc() -> Zone:
    """Return the zone of the times that name none."""
    return installed_zone("UTC")


def read_table(name: str, spelled: object) -> Zone:
    """Return a zone with a table of a pipeline file.

    Raises:
        ValueError: it is no table of a zone.
    """
    msg = (
        f"{shown(spelled)} is not the table of zone {name}, a TZif file in base64: take `zones` "
        "out of a file of your own; of a run's own file, put back a copy"
    )
    if not isinstance(spelled, str):
        raise ValueError(msg)
    try:
        zone = Zone(name, b64decode(spelled, validate=True))
        zone.info.utcoffset(datetime(2000, 1, 1))  # noqa: DTZ001 - whether it has an offset
    except (NotBase64, ValueError, EOFError, IndexError, struct.error):
        raise ValueError(msg) from None
    return zone


_KNOWN: Final[ContextVar[tuple[Mapping[str, Zone], dict[str, Zone]]]] = ContextVar("zones")


@contextmanager
def by_tables(kept: Mapping[str, Zone], named: dict[str, Zone]) -> Iterator[None]:
    """Let `zone_named` go by tables of a pipeline inside of the block.

    Args:
        kept: the zones that it came with; others are the installed ones.
        named: takes the zones that are asked for.
    """
    token = _KNOWN.set((kept, named))
    try:
        yield
    finally:
        _KNOWN.reset(token)


def zone_named(name: object) -> Zone:
    """Return a zone as the pipeline that is read just now has it, else as it is installed.

    Raises:
        ValueError: there is none of that name.
    """
    kept, named = _KNOWN.get(({}, {}))
    own = kept.get(name) if isinstance(name, str) else None
    zone = own or installed_zone(name)
    named[zone.name] = zone
    return zone


@cache
def zones() -> frozenset[str]:
    """Return the names of all time zones."""
    return frozenset(resources.files("tzdata").joinpath("zones").read_text("ascii").split())
