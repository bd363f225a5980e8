"""The window language: parse text or a mapping into clauses, or fail with a code.

Source: Li et al., "Semantics and Evaluation Techniques for Window Aggregates in Data Streams",
SIGMOD 2005, section 3; the spelling, LANDMARK, CUMULATE, ORIGIN, ZONE, ORDER, ALIGN and the codes
are ours. SESSION is the dynamic window of SAMZA-552.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from windowing.model.errors import WindowError, meant_or_known
from windowing.model.lengths import INT64_MAX, INT64_MIN, Length, instant_us, parse_length
from windowing.model.paths import PATH, named
from windowing.model.windows.window import ROW_NUM, Align
from windowing.model.zones import Zone, zone_named

AttributeType = Literal["time", "number", "text", "rows"]

CLAUSES = (
    *("RANGE", "SLIDE", "WATTR", "RATTR", "SATTR", "PATTR", "ORIGIN", "ORDER", "ALIGN", "SESSION"),
    "ZONE",
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TOKEN = re.compile(rf"{_DATE.pattern}[^\s,]*|[+-]?[0-9]+(?:\.[0-9]+)?|{PATH}|[()]|[^\s,]")
_NAME = re.compile(PATH)
_CUMULATE = re.compile(r"CUMULATE\b")
_RANK = re.compile(rf"rank\s*\(\s*({PATH})\s*\)", re.IGNORECASE)
_INDEX_LAST = re.compile(r"\[[0-9]+\]\Z")


@dataclass(frozen=True)
class Clauses:
    """The clauses as written, before any rule is applied."""

    range_: Length | Literal["LANDMARK"] | None = None
    cumulate: bool = False
    slide: Length | None = None
    wattr: str | None = None
    rattr: str | None = None
    sattr: str | None = None
    pattr: str | None = None
    origin: Length | None = None
    order: str | None = None
    align: str | None = None
    session: Length | None = None
    zone: Zone | None = None
    gaps: tuple[tuple[int | str, Length], ...] = ()


@dataclass(frozen=True)
class ResolvedClauses:
    """Valid clauses, with each length in the unit of its attribute.

    Attributes:
        range_: the length; None: LANDMARK.
        slide: the distance between the ends of consecutive windows, or the rows between two.
        attribute: that of WATTR or RATTR.
        origin, pattr: as in the file, or their defaults.
        at_records: None: WATTR; else which count of records defines windows: in order of arrival
            (`row_num`) or of their attribute (`rank`).
        order, align: like origin.
        cumulate: whether windows begin with their period, which is one range long.
    """

    range_: int | None
    slide: int
    attribute: str
    origin: int
    pattr: str | None
    at_records: Literal["row_num", "rank"] | None
    order: Literal["log", "event_time"]
    align: Align
    cumulate: bool = False

    @property
    def over_rows(self) -> bool:
        """Whether windows are over row numbers."""
        return self.attribute == ROW_NUM


def read_clauses(source: str | Mapping[str, object]) -> Clauses:
    """Parse a window's clauses, given as text or as a mapping, without applying rules.

    Raises:
        WindowError: E_SYNTAX or E_DUPLICATE.
    """
    return _read_text(source) if isinstance(source, str) else _read_fields(source)


def _read_text(text: str) -> Clauses:
    body = text.strip()
    closed = body.endswith("]") and not _INDEX_LAST.search(body)
    if body.startswith("[") != closed:
        raise _syntax(text, "a bracket is not closed")
    if closed:
        body = body[1:-1]
    tokens = _TOKEN.findall(body)
    if not tokens:
        raise _syntax(text, "there is no clause")
    values: dict[str, list[str]] = {}
    current: list[str] | None = None
    for token in tokens:
        word = token.upper()
        # A keyword right after a clause's name is that clause's value (a field called `order`).
        if word in CLAUSES and (current is None or current):
            if word in values:
                code = "E_DUPLICATE"
                msg = f"{word} stands twice in {text!r}: keep one"
                raise WindowError(code, msg)
            current = values[word] = []
        elif current is None:
            hint = f": write RANGE {word}" if word in ("LANDMARK", "CUMULATE") else ""
            raise _syntax(text, f"{token!r} stands before the first clause{hint}")
        else:
            current.append(token)
    # Names of zones have no blanks, but signs that stand for themselves.
    between = {"ZONE": ""}
    joined = {name: between.get(name, " ").join(words) for name, words in values.items()}
    return _clauses(joined, text)


def _read_fields(fields: Mapping[str, object]) -> Clauses:
    values: dict[str, str] = {}
    gaps: object = {}
    for name, value in fields.items():
        word = str(name).upper()
        if word == "GAPS":
            gaps = value
            continue
        if word not in CLAUSES:
            raise _syntax(dict(fields), f"unknown clause {name!r}{meant_or_known(word, CLAUSES)}")
        if word in values:
            code = "E_DUPLICATE"
            msg = f"{word} stands twice in {dict(fields)!r}: keep one"
            raise WindowError(code, msg)
        values[word] = str(value)
    return replace(_clauses(values, dict(fields)), gaps=_read_gaps(gaps, dict(fields)))


def _read_gaps(gaps: object, source: object) -> tuple[tuple[int | str, Length], ...]:
    if not isinstance(gaps, Mapping) or not all(type(key) in (int, str) for key in gaps):
        raise _syntax(source, "gaps: give keys and their lengths, as gaps: {AA: 10 minutes}")
    try:
        return tuple((key, parse_length(str(length))) for key, length in gaps.items())
    except ValueError as error:
        raise _syntax(source, f"gaps: {error}") from None


def _clauses(values: Mapping[str, str], source: object) -> Clauses:
    def length(name: str, after: str = "") -> Length | None:
        if name not in values:
            return None
        try:
            return parse_length(values[name][len(after) :], calendar="ZONE" in values)
        except ValueError as error:
            raise _syntax(source, f"{name}: {error}") from None

    def origin() -> Length | None:
        text = values.get("ORIGIN", "")
        if not _DATE.match(text):
            return length("ORIGIN")
        try:
            return Length(Fraction(instant_us(text)), "us", text)
        except ValueError as error:
            raise _syntax(source, f"ORIGIN: {error}") from None

    def attribute(name: str) -> str | None:
        if name not in values:
            return None
        if not _NAME.fullmatch(values[name]):
            raise _syntax(source, f"{name}: {values[name]!r} is not a name of a field")
        return _attribute_name(values[name])

    ranged = values.get("RANGE", "").upper()
    landmark, cumulate = ranged == "LANDMARK", _CUMULATE.match(ranged) is not None
    return Clauses(
        range_="LANDMARK" if landmark else length("RANGE", "CUMULATE" * cumulate),
        cumulate=cumulate,
        slide=length("SLIDE"),
        wattr=attribute("WATTR"),
        rattr=attribute("RATTR"),
        sattr=_read_sattr(values["SATTR"], source) if "SATTR" in values else None,
        pattr=attribute("PATTR"),
        origin=origin(),
        order=_read_order(values["ORDER"], source) if "ORDER" in values else None,
        align=_read_align(values["ALIGN"], source) if "ALIGN" in values else None,
        session=length("SESSION"),
        zone=_read_zone(values["ZONE"]) if "ZONE" in values else None,
    )


def _read_sattr(text: str, source: object) -> str:
    rank = _RANK.fullmatch(text)
    if rank:
        return f"rank({named(rank.group(1))})"
    if not _NAME.fullmatch(text):
        raise _syntax(source, f"SATTR: {text!r} is neither row_num nor rank(attribute)")
    return _attribute_name(text)


def _read_order(text: str, source: object) -> str:
    if text.lower() not in ("log", "event_time"):
        raise _syntax(source, f"ORDER: {text!r} is neither log nor event_time")
    return text.lower()


def _read_align(text: str, source: object) -> str:
    if text.lower() not in ("start", "end"):
        raise _syntax(source, f"ALIGN: {text!r} is neither start nor end")
    return text.lower()


def _read_zone(text: str) -> Zone:
    try:
        return zone_named(text)
    except ValueError as error:
        raise WindowError("E_ZONE", f"ZONE: {error}") from None


def _attribute_name(name: str) -> str:
    return ROW_NUM if name.lower() in ("row-num", ROW_NUM) else named(name)


def _syntax(source: object, why: str) -> WindowError:
    example = "RANGE 1 hour SLIDE 10 minutes WATTR ts"
    return WindowError("E_SYNTAX", f"cannot read {source!r}: {why}; an example: {example}")


def check_unit(
    clause: str, length: Length | Literal["LANDMARK"] | None, kind: AttributeType
) -> None:
    """Check that a length's unit fits its attribute.

    Raises:
        WindowError: E_UNIT.
    """
    wanted = {"time": "a unit of time", "rows": "the unit rows", "number": "no unit"}[kind]
    if not isinstance(length, Length):
        return
    fits = {"time": length.is_time, "rows": length.unit == "rows", "number": length.unit is None}
    if not fits[kind]:
        raise WindowError("E_UNIT", f"{clause} {length.text}: this attribute needs {wanted}")


def amount(
    clause: str, length: Length | Literal["LANDMARK"] | None, kind: AttributeType, *, positive: bool
) -> int:
    """Return a length as an integer, in the unit of its attribute.

    Raises:
        WindowError: E_VALUE: it is not an integer, or out of range.
    """
    assert isinstance(length, Length)  # noqa: S101 - ensured by earlier rules
    exact = length.scaled()
    if exact.denominator != 1:
        whole = {"time": "microseconds", "rows": "rows"}.get(kind, "steps")
        raise WindowError("E_VALUE", f"{clause} {length.text}: not a whole number of {whole}")
    if (positive and exact <= 0) or not INT64_MIN <= exact <= INT64_MAX:
        rule = "positive and below 2^63" if positive else "within 64 bits"
        raise WindowError("E_VALUE", f"{clause} {length.text}: must be {rule}")
    return int(Fraction(exact))
