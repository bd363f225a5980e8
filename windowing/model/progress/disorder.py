"""The base of generators as data, and how their settings are read; errors state the rule.

Source: Li et al., SIGMOD 2005.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from windowing.model.errors import meant_or_known
from windowing.model.facts import Facts
from windowing.model.lengths import parse_length
from windowing.model.registry import Registry
from windowing.model.types import FieldType


class Disorder(ABC):
    """The data of a generator; `parse` of a class that `@generator` registers makes it.

    Attributes:
        name: the key under which the engine and the definition register their halves.
    """

    name: str

    @property
    def data(self) -> Any:
        """The data that both halves are built from."""
        return self

    @property
    def progress_attr(self) -> str | None:
        """The field whose values have separate progress each; None: progress is per lane."""
        return None

    @property
    def looks_at(self) -> str | None:
        """A field that it reads besides the one that it bounds, or None."""
        return None

    @property
    def named_lanes(self) -> Collection[str] | None:
        """The lanes with their own settings, which must be all; None: no settings per lane."""
        return None

    @property
    def unitless(self) -> bool:
        """Whether it applies to any attribute, because it contains no duration."""
        return False

    @property
    def fits_numbers(self) -> bool:
        """Whether it may be given for an attribute that is a plain number."""
        return self.unitless

    def without_lanes(self, gone: Collection[str]) -> Disorder:
        """Return the generator without its settings for some lanes."""
        del gone
        return self

    def misfit(self, fields: Mapping[str, FieldType]) -> str | None:
        """Return what is wrong with its values, given a source's fields, or None."""
        del fields
        return None

    @abstractmethod
    def facts(self) -> Facts:
        """Return its facts for the fingerprint.

        Raises:
            PluginError: its plug-in cannot be imported, or its source cannot be read.
        """

    @abstractmethod
    def explained(self, attribute: str, *, timed: bool) -> str:
        """Return a sentence on how a lane gets its bounds for an attribute.

        Args:
            attribute: the field that is bounded.
            timed: whether that is the event time, not a plain number.
        """


Parse = Callable[[object], Any]
"""A function from the settings in a pipeline file, None if absent, to a generator's data."""

GENERATORS: Final = Registry[Parse]("generator", "generators")
"""Parsers of settings, by the generator's name in pipeline files."""

generator: Final = GENERATORS.parser
"""The decorator of a class whose `parse` reads `disorder: {NAME: settings}`."""


def only_lanes(named: Sequence[tuple[str, Any]], gone: Collection[str]) -> tuple[Any, ...]:
    """Return the pairs of lane and settings without those of some lanes."""
    return tuple(pair for pair in named if pair[0] not in gone)


RULE: Final = (
    "use ordered, punctuation, {slack: 30 seconds}, {slack: 500 rows}, {punctuation: {attr: f}}, "
    "{ordered_per: {attr: f, members: {topic/0: [a, b]}}}, {heartbeat: {topic/0: {max_delay: 5 s, "
    "min_delay: 0 s, skew: 1 s}}} or {adaptive: {late: 0.1%, over: 1000 rows}}"
)
"""An example of each built-in generator."""


def read_rows(value: object, *, least: int) -> int:
    """Parse a number of rows: `1000 rows`."""
    length = parse_length(value) if isinstance(value, str) else None
    if length is None or length.unit != "rows":
        msg = f"{value!r} is not a number of rows, as 1000 rows"
        raise ValueError(msg)
    if length.number.denominator != 1 or not least <= length.number < 2**31:
        msg = f"{value!r}: must be a whole number of rows, at least {least}"
        raise ValueError(msg)
    return int(length.number)


def read_attr(settings: Mapping[str, object]) -> str:
    """Parse the name of a field."""
    attr = settings["attr"]
    if not isinstance(attr, str):
        msg = f"attr: {attr!r} is not the name of a field"
        raise ValueError(msg)
    return attr


def read_mapping(
    value: object,
    what: str,
    *,
    required: tuple[str, ...] = (),
    known: tuple[str, ...] | None = None,
) -> Mapping[str, object]:
    """Check that a value is a mapping with the right keys.

    Args:
        what: the keys in words, for the message.
        known: keys that may be present; None: any.
    """
    if not isinstance(value, Mapping):
        msg = f"{value!r} does not give {what}; {RULE}"
        raise ValueError(msg)
    unknown = [name for name in value if known is not None and name not in known]
    missing = [name for name in required if name not in value]
    if unknown or missing:
        wrong = f"{missing[0]} is missing" if missing else ""
        if unknown:
            wrong = f"unknown key {unknown[0]!r}{meant_or_known(unknown[0], known or ())}"
        msg = f"{wrong}; {RULE}"
        raise ValueError(msg)
    return value
