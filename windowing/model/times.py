"""How times are spelled in values: as numbers in a unit, as ISO 8601, as text of a format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast, get_args

from windowing.model.errors import meant, shown
from windowing.model.types import Kind
from windowing.model.zones import Zone, utc, zone_named

Unit = Literal["us", "ms", "s", "ns", "iso"]

POWERS: Final = {"s": 6, "ms": 3, "us": 0, "ns": -3}
"""A number in a unit is so many powers of ten of microseconds."""

FRACTIONAL: Final = ("us", "ms", "s")
"""The units whose numbers may have a fraction, where `fraction: true` says so."""

DIRECTIVES: Final = {
    "Y": "year, four digits",
    "y": "year, two digits (69 is 1969)",
    "m": "month",
    "b": "month, English, three letters",
    "B": "month, English",
    "d": "day",
    "a": "weekday, English, three letters",
    "A": "weekday, English",
    "H": "hour, 0 to 23",
    "I": "hour, 1 to 12",
    "p": "AM or PM",
    "M": "minute",
    "S": "second",
    "f": "fraction of a second, up to six digits",
    "z": "offset from UTC",
    "%": "%",
}
"""strptime's directives, as far as they say the same everywhere."""

_TWICE: Final = (("Y", "y"), ("m", "b", "B"), ("a", "A"), ("H", "I"))
_SHAPE: Final = '{text: "%d.%m.%Y %H:%M:%S", zone: Europe/Berlin}'


@dataclass(frozen=True)
class TextTimes:
    """Times as text: `{text: FORMAT, zone: ZONE}`.

    Attributes:
        format: characters, and strptime's directives.
        zone: whose local times they are; not used where they have an offset (`%z`).
    """

    format: str
    zone: Zone = field(default_factory=utc)

    def __str__(self) -> str:
        return f"{{text: {self.format!r}, zone: {self.zone}}}"

    @property
    def parts(self) -> tuple[tuple[bool, str], ...]:
        """The format in pieces of one character; true: it is the letter of a directive."""
        found, characters = list[tuple[bool, str]](), iter(self.format)
        for character in characters:
            found.append((True, next(characters, "")) if character == "%" else (False, character))
        return tuple(found)

    @property
    def letters(self) -> list[str]:
        """The directives, in order."""
        return [letter for is_directive, letter in self.parts if is_directive and letter != "%"]

    @property
    def rule(self) -> str:
        """How they have to be spelled, in words."""
        return f"a text as {self.format!r}"

    @property
    def rule_of_zone(self) -> str:
        """Which of them there are, in words."""
        return f"a time that clocks in {self.zone} show"

    @property
    def odd(self) -> str:
        """Its characters beyond printable ASCII; a text must have the same ones."""
        return odd_characters(self.format)


@dataclass(frozen=True)
class Spelling:
    """How the times of a source are spelled.

    Attributes:
        fraction: numbers may have one, and an exponent.
    """

    unit: Unit | TextTimes
    fraction: bool = False

    @property
    def name(self) -> str:
        """The unit; of texts in a format of their own, `text`."""
        return "text" if isinstance(self.unit, TextTimes) else self.unit

    @property
    def is_text(self) -> bool:
        """Whether they are texts; else numbers."""
        return self.unit == "iso" or isinstance(self.unit, TextTimes)

    @property
    def kind(self) -> Kind:
        """The type of what is written."""
        return "string" if self.is_text else "decimal" if self.fraction else "int"

    @property
    def is_scaled(self) -> bool:
        """Whether they are integers, of which each is a whole number of microseconds."""
        return self.unit in FRACTIONAL and not self.fraction

    @property
    def unit_us(self) -> int:
        """The microseconds in a unit of integers; of other spellings, 1."""
        return 10 ** POWERS[cast("str", self.unit)] if self.is_scaled else 1

    @property
    def rule(self) -> str:
        """What a time has to be, in words."""
        if self.unit == "iso":
            return "YYYY-MM-DDTHH:MM[:SS[.ffffff]][Z|±HH:MM]; no offset is UTC"
        if isinstance(self.unit, TextTimes):
            return f"{self.unit.rule}, and {self.unit.rule_of_zone}"
        return f"{'a number' if self.fraction else 'an integer'}, in {self.unit}"


def odd_characters(text: str) -> str:
    """Return the characters of a text that are not printable ASCII, in order."""
    return "".join(one for one in text if not " " <= one <= "~")


def parse_unit(value: object) -> Unit | TextTimes:
    """Parse `event_time.unit`.

    Raises:
        ValueError: there is no such unit, directive or zone.
    """
    if isinstance(value, TextTimes) or (isinstance(value, str) and value in get_args(Unit)):
        return cast("Unit | TextTimes", value)
    if isinstance(value, Mapping):
        return _parse_text(value)
    known = ", ".join(get_args(Unit))
    what = f"{shown(value)} is not a unit of times{meant(value, get_args(Unit)) or ':'}"
    msg = f"{what} use {known}, or how they are written, as {_SHAPE}"
    raise ValueError(msg)


def _parse_text(value: Mapping[Any, Any]) -> TextTimes:
    text, zone = value.get("text"), value.get("zone")
    unknown = next((key for key in value if key not in ("text", "zone")), None)
    if unknown is not None or not isinstance(text, str):
        what = "text is missing" if unknown is None else f"unknown key {shown(unknown)}"
        msg = f"{what}{meant(unknown, ('text', 'zone'))}: write {_SHAPE}"
        raise ValueError(msg)
    found = TextTimes(text, utc() if zone is None else zone_named(zone))
    _check_directives(found)
    if zone is not None and "z" in found.letters:
        msg = f"{text!r} has the offset of each time (%z): leave zone out"
        raise ValueError(msg)
    return found


def _check_directives(times: TextTimes) -> None:
    letters, text = times.letters, times.format
    for letter in letters:
        if letter not in DIRECTIVES:
            known = " ".join(f"%{one}" for one in DIRECTIVES)
            what = f"%{letter} is not a directive" if letter else "a % stands at the end"
            msg = f"{text!r}: {what}; use strptime's {known}, as far as needed"
            raise ValueError(msg)
        same = next((group for group in _TWICE if letter in group), (letter,))
        if sum(letters.count(one) for one in same) > 1:
            msg = f"{text!r} says the {DIRECTIVES[letter].partition(',')[0]} twice: take one out"
            raise ValueError(msg)
    for needed, name in (("Yy", "year, as %Y"), ("mbB", "month, as %m"), ("d", "day, as %d")):
        if not set(needed) & set(letters):
            msg = f"{text!r} has no {name}: an instant needs year, month and day"
            raise ValueError(msg)
    if ("I" in letters) != ("p" in letters):
        msg = f"{text!r}: %I (1 to 12) and %p (AM or PM) need each other; %H is 0 to 23"
        raise ValueError(msg)
