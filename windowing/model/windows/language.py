"""The window language: text or fields in, one frozen `Window` out, or one error code.

Source: Li et al., "Semantics and Evaluation Techniques for Window Aggregates in Data Streams",
SIGMOD 2005, section 3; the spelling, LANDMARK, ORIGIN, ORDER, ALIGN and the codes are ours. SESSION
is the dynamic window of SAMZA-552.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from windowing.model.errors import WindowError
from windowing.model.lengths import INT64_MAX, INT64_MIN, Length, parse_length
from windowing.model.windows.by_record import SlideByN, SlideByRank, SlideByTuple
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.session import Session
from windowing.model.windows.sliding import Sliding
from windowing.model.windows.window import ROW_NUM, Align, Window

AttributeType = Literal["time", "number", "text", "rows"]

_CLAUSES = (
    *("RANGE", "SLIDE", "WATTR", "RATTR", "SATTR", "PATTR", "ORIGIN", "ORDER", "ALIGN", "SESSION"),
)
_TOKEN = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?|[A-Za-z_][A-Za-z0-9_.-]*|[()]|\S")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_RANK = re.compile(r"rank\s*\(\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*\)", re.IGNORECASE)


@dataclass(frozen=True)
class _Clauses:
    """What was written, before any rule is applied."""

    range_: Length | Literal["LANDMARK"] | None = None
    slide: Length | None = None
    wattr: str | None = None
    rattr: str | None = None
    sattr: str | None = None
    pattr: str | None = None
    origin: Length | None = None
    order: str | None = None
    align: str | None = None
    session: Length | None = None
    gaps: tuple[tuple[int | str, Length], ...] = ()


def parse_window(
    source: str | Mapping[str, object],
    attributes: Mapping[str, AttributeType],
    group_by: Sequence[str] = (),
) -> Window:
    """Read a window, given as text or as a mapping of clauses, and apply every rule.

    Args:
        source: `RANGE 1 hour SLIDE 10 minutes WATTR ts`, or `{range: 1 hour, slide: …}`.
        attributes: the fields of a record and their types; `row_num` is always known.
        group_by: the fields that the query groups by, which obey some of the same rules.

    Raises:
        WindowError: with the first code that applies, in the order of the language's table.
    """
    clauses = _read_text(source) if isinstance(source, str) else _read_fields(source)
    return _judge(clauses, {**attributes, ROW_NUM: "rows"}, group_by)


def _read_text(text: str) -> _Clauses:
    body = text.strip()
    if body.startswith("[") != body.endswith("]"):
        raise _syntax(text, "a bracket is not closed")
    body = body.removeprefix("[").removesuffix("]")
    tokens = _TOKEN.findall(body.replace(",", " "))
    if not tokens:
        raise _syntax(text, "there is no clause")
    values: dict[str, list[str]] = {}
    current: list[str] | None = None
    for token in tokens:
        word = token.upper()
        # A keyword right after a clause's name is that clause's value (a field called `order`).
        if word in _CLAUSES and (current is None or current):
            if word in values:
                code = "E_DUPLICATE"
                msg = f"{word} stands twice in {text!r}: keep one"
                raise WindowError(code, msg)
            current = values[word] = []
        elif current is None:
            raise _syntax(text, f"{token!r} stands before the first clause")
        else:
            current.append(token)
    return _clauses({name: " ".join(words) for name, words in values.items()}, text)


def _read_fields(fields: Mapping[str, object]) -> _Clauses:
    values: dict[str, str] = {}
    gaps: object = {}
    for name, value in fields.items():
        word = str(name).upper()
        if word == "GAPS":
            gaps = value
            continue
        if word not in _CLAUSES:
            raise _syntax(dict(fields), f"unknown clause {name!r}")
        if word in values:
            code = "E_DUPLICATE"
            msg = f"{word} stands twice in {dict(fields)!r}: keep one"
            raise WindowError(code, msg)
        values[word] = str(value)
    return replace(_clauses(values, dict(fields)), gaps=_read_gaps(gaps, dict(fields)))


def _read_gaps(gaps: object, source: object) -> tuple[tuple[int | str, Length], ...]:
    """Sessions of single keys: `gaps: {AA: 10 minutes}`."""
    if not isinstance(gaps, Mapping) or not all(type(key) in (int, str) for key in gaps):
        raise _syntax(source, "gaps: give keys and their lengths, as gaps: {AA: 10 minutes}")
    try:
        return tuple((key, parse_length(str(length))) for key, length in gaps.items())
    except ValueError as error:
        raise _syntax(source, f"gaps: {error}") from None


def _clauses(values: Mapping[str, str], source: object) -> _Clauses:
    def length(name: str) -> Length | None:
        if name not in values:
            return None
        try:
            return parse_length(values[name])
        except ValueError as error:
            raise _syntax(source, f"{name}: {error}") from None

    def attribute(name: str) -> str | None:
        if name not in values:
            return None
        if not _NAME.fullmatch(values[name]):
            raise _syntax(source, f"{name}: {values[name]!r} is not a name of a field")
        return _attribute_name(values[name])

    landmark = values.get("RANGE", "").upper() == "LANDMARK"
    return _Clauses(
        range_="LANDMARK" if landmark else length("RANGE"),
        slide=length("SLIDE"),
        wattr=attribute("WATTR"),
        rattr=attribute("RATTR"),
        sattr=_read_sattr(values["SATTR"], source) if "SATTR" in values else None,
        pattr=attribute("PATTR"),
        origin=length("ORIGIN"),
        order=_read_order(values["ORDER"], source) if "ORDER" in values else None,
        align=_read_align(values["ALIGN"], source) if "ALIGN" in values else None,
        session=length("SESSION"),
    )


def _read_sattr(text: str, source: object) -> str:
    rank = _RANK.fullmatch(text)
    if rank:
        return f"rank({rank.group(1)})"
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


def _attribute_name(name: str) -> str:
    return ROW_NUM if name.lower() in ("row-num", ROW_NUM) else name


def _syntax(source: object, why: str) -> WindowError:
    example = "RANGE 1 hour SLIDE 10 minutes WATTR ts"
    return WindowError("E_SYNTAX", f"cannot read {source!r}: {why}; an example: {example}")


def _judge(c: _Clauses, types: Mapping[str, AttributeType], group_by: Sequence[str]) -> Window:
    """Apply the rules in the order of the table, so that one mistake gives one code."""
    if c.session is not None:
        return _judge_session(c, types, group_by)
    if c.gaps:
        raise WindowError("E_MISSING", "gaps are for sessions: give session: and wattr: as well")
    _check_attributes(c, types, group_by)
    ranged = c.wattr or c.rattr or ""
    _check_clauses(c, ranged, types, group_by)
    kind = types[ranged]
    sliding = kind if c.wattr else "rows"
    for clause, length, of in (("RANGE", c.range_, kind), ("SLIDE", c.slide, sliding)):
        _check_unit(clause, length, of)
    _check_unit("ORIGIN", c.origin, kind)
    slide = _amount("SLIDE", c.slide, sliding, positive=True)
    range_ = None if c.range_ == "LANDMARK" else _amount("RANGE", c.range_, kind, positive=True)
    origin = 0 if c.origin is None else _amount("ORIGIN", c.origin, kind, positive=False)
    if ranged == ROW_NUM:
        order: Literal["log", "event_time"] = "event_time" if c.order == "event_time" else "log"
        return RowWindow(range_, slide, c.pattr, order, _align(c))
    if range_ is None:
        return Landmark(slide, ranged, origin, c.pattr)
    if c.wattr is not None:
        return Sliding(range_, slide, ranged, origin, c.pattr, _align(c))
    if c.sattr != ROW_NUM:
        return SlideByRank(range_, slide, ranged, c.pattr)
    if slide == 1:
        return SlideByTuple(range_, ranged, c.pattr)
    return SlideByN(range_, slide, ranged, c.pattr)


def _align(c: _Clauses) -> Align:
    return "start" if c.align == "start" else "end"


def _judge_session(
    c: _Clauses, types: Mapping[str, AttributeType], group_by: Sequence[str]
) -> Window:
    """Sessions have a length, an attribute, and PATTR at the most."""
    others = (c.range_, c.slide, c.rattr, c.sattr, c.origin, c.order, c.align)
    if c.wattr is None or any(clause is not None for clause in others):
        msg = "SESSION goes with WATTR and PATTR alone, as SESSION 30 minutes WATTR ts"
        raise WindowError("E_ATTR_MIX", msg)
    for name in filter(None, (c.wattr, c.pattr)):
        if name not in types:
            known = ", ".join(sorted(types))
            raise WindowError("E_ATTR_UNKNOWN", f"{name} names no field; known: {known}")
    kind = types[c.wattr]
    if kind == "text" or ROW_NUM in (c.pattr, *group_by):
        msg = f"SESSION needs a time, a number or rows, and a key that is none: {c.wattr}"
        raise WindowError("E_ATTR_TYPE", msg)
    # N rows of other keys part two records, which are then N + 1 rows apart.
    more = 1 if c.wattr == ROW_NUM else 0
    gaps = [(key, _amount("GAPS", gap, kind, positive=True) + more) for key, gap in c.gaps]
    range_ = _amount("SESSION", c.session, kind, positive=True) + more
    return Session(range_, c.wattr, c.pattr, tuple(gaps))


def _check_attributes(
    c: _Clauses, types: Mapping[str, AttributeType], group_by: Sequence[str]
) -> None:
    sattr = c.sattr[5:-1] if c.sattr and c.sattr.startswith("rank(") else c.sattr
    for clause, name in (
        ("WATTR", c.wattr),
        ("RATTR", c.rattr),
        ("SATTR", sattr),
        ("PATTR", c.pattr),
        *(("GROUP BY", name) for name in group_by),
    ):
        if name is not None and name not in types:
            known = ", ".join(sorted(types))
            raise WindowError("E_ATTR_UNKNOWN", f"{clause} {name} names no field; known: {known}")
    if (
        c.range_ is None
        or c.slide is None
        or (c.wattr is None and c.rattr is None and c.sattr is None)
    ):
        msg = "a window needs RANGE, SLIDE, and WATTR or RATTR with SATTR"
        raise WindowError("E_MISSING", msg)
    if c.wattr is not None and (c.rattr or c.sattr):
        raise WindowError("E_ATTR_MIX", "WATTR stands alone; RATTR and SATTR go together")
    if c.wattr is None and (c.rattr is None or c.sattr is None):
        raise WindowError("E_ATTR_MIX", "RATTR and SATTR go together: one of them is missing")


def _check_clauses(
    c: _Clauses, ranged: str, types: Mapping[str, AttributeType], group_by: Sequence[str]
) -> None:
    if types[ranged] == "text":
        raise WindowError("E_ATTR_TYPE", f"{ranged} is text: windows need a time, a number or rows")
    if ROW_NUM in (c.pattr, *group_by):
        raise WindowError("E_ATTR_TYPE", "PATTR or GROUP BY row_num: a row number is no key")
    if c.rattr == ROW_NUM:
        raise WindowError("E_RATTR", "RATTR row_num: use WATTR row_num for tuple-based windows")
    if c.sattr not in (None, ROW_NUM, f"rank({c.rattr})"):
        raise WindowError("E_SATTR", f"SATTR {c.sattr}: must be row_num or rank({c.rattr})")
    if c.range_ == "LANDMARK" and c.rattr:
        raise WindowError("E_LANDMARK", "RANGE LANDMARK goes with WATTR, not with RATTR")
    if c.origin is not None and (c.rattr or ranged == ROW_NUM):
        raise WindowError("E_ORIGIN", "ORIGIN goes with WATTR over an attribute, not with rows")
    if c.order is not None and c.wattr != ROW_NUM:
        raise WindowError("E_ORDER", "ORDER goes with WATTR row_num only")
    if c.align == "start" and (c.rattr or c.range_ == "LANDMARK"):
        raise WindowError("E_ORIGIN", "ALIGN start goes with RANGE … SLIDE … WATTR")


def _check_unit(
    clause: str, length: Length | Literal["LANDMARK"] | None, kind: AttributeType
) -> None:
    wanted = {"time": "a unit of time", "rows": "the unit rows", "number": "no unit"}[kind]
    if not isinstance(length, Length):
        return
    fits = {"time": length.is_time, "rows": length.unit == "rows", "number": length.unit is None}
    if not fits[kind]:
        raise WindowError("E_UNIT", f"{clause} {length.text}: this attribute needs {wanted}")


def _amount(
    clause: str, length: Length | Literal["LANDMARK"] | None, kind: AttributeType, *, positive: bool
) -> int:
    assert isinstance(length, Length)  # noqa: S101 - the rules before this one saw to it
    exact = length.scaled()
    if exact.denominator != 1:
        whole = {"time": "microseconds", "rows": "rows"}.get(kind, "steps")
        raise WindowError("E_VALUE", f"{clause} {length.text}: not a whole number of {whole}")
    if (positive and exact <= 0) or not INT64_MIN <= exact <= INT64_MAX:
        rule = "positive and below 2^63" if positive else "within 64 bits"
        raise WindowError("E_VALUE", f"{clause} {length.text}: must be {rule}")
    return int(Fraction(exact))
