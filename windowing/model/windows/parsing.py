"""Parse a window: apply every rule of the language, and find the class of the clauses.

The rules stand in the order of the language's table of codes, so that one mistake gives one code.

Source: as for `windowing.model.windows.language`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from windowing.model.errors import WindowError
from windowing.model.lengths import Length
from windowing.model.windows.by_record import SlideByN, SlideByRank, SlideByTuple
from windowing.model.windows.calendar import CalendarWindow
from windowing.model.windows.cumulate import Cumulate
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.language import (
    AttributeType,
    Clauses,
    ResolvedClauses,
    amount,
    check_unit,
    read_clauses,
)
from windowing.model.windows.own import own_kind, own_window
from windowing.model.windows.registry import WINDOWS
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.session import Session, session_of
from windowing.model.windows.sliding import Sliding
from windowing.model.windows.window import ROW_NUM, Window

_EVENT_TIME: Final = "event_time"

_LANGUAGE: tuple[Callable[[ResolvedClauses], Window | None], ...] = (
    *(Cumulate.of, RowWindow.of, Sliding.of, Landmark.of),
    *(SlideByRank.of, SlideByTuple.of, SlideByN.of),
)
"""Classes to try in this order; sessions and local time have separate rules."""

CLASSES: tuple[type[Any], ...] = (
    *(Sliding, CalendarWindow, Landmark, Cumulate, RowWindow),
    *(SlideByTuple, SlideByN, SlideByRank, Session),
)
"""All classes that the window language spells."""

for _class in CLASSES:
    WINDOWS.add(_class.kind, _class, f"{_class.__module__}.{_class.__name__}")


def parse_window(
    source: str | Mapping[str, object],
    attributes: Mapping[str, AttributeType],
    group_by: Sequence[str] = (),
) -> Window:
    """Parse a window, given as text or as a mapping of clauses, and apply every rule.

    Args:
        source: `RANGE 1 hour SLIDE 10 minutes WATTR ts`, or `{range: 1 hour, slide: …}`.
        attributes: the fields of a record and their types; `row_num` is always known.
        group_by: the fields that the query groups by, which obey some of the same rules.

    Raises:
        WindowError: with the first code that applies, in the order of the language's table.
    """
    types: dict[str, AttributeType] = {**attributes, ROW_NUM: "rows"}
    if not isinstance(source, str) and (kind := own_kind(source)) is not None:
        return own_window(kind, source, types)
    return _judge(_with_time(read_clauses(source), types), types, group_by)


def _with_time(clauses: Clauses, types: Mapping[str, AttributeType]) -> Clauses:
    """Give the event time its own name where it is called `event_time`, as it always may be."""
    if _EVENT_TIME in types:
        return clauses
    time = next((name for name, type_ in types.items() if type_ == "time"), None)
    if clauses.wattr == _EVENT_TIME:
        return replace(clauses, wattr=time)
    return replace(clauses, rattr=time) if clauses.rattr == _EVENT_TIME else clauses


def _judge(c: Clauses, types: Mapping[str, AttributeType], group_by: Sequence[str]) -> Window:
    if c.session is not None:
        return session_of(c, types, group_by)
    if c.gaps:
        raise WindowError("E_MISSING", "gaps are for sessions: give session: and wattr: as well")
    _check_attributes(c, types, group_by)
    ranged = c.wattr or c.rattr or ""
    _check_clauses(c, ranged, types, group_by)
    kind = types[ranged]
    if c.zone is not None:
        local = Cumulate if c.cumulate else CalendarWindow
        return local.of_zone(c, c.zone, kind)
    sliding = kind if c.wattr else "rows"
    for clause, length, of in (("RANGE", c.range_, kind), ("SLIDE", c.slide, sliding)):
        check_unit(clause, length, of)
    check_unit("ORIGIN", c.origin, kind)
    slide = amount("SLIDE", c.slide, sliding, positive=True)
    range_ = None if c.range_ == "LANDMARK" else amount("RANGE", c.range_, kind, positive=True)
    if c.cumulate:
        _check_period(c, range_ or 0, slide)
    origin = 0 if c.origin is None else amount("ORIGIN", c.origin, kind, positive=False)
    spelled = ResolvedClauses(
        range_,
        slide,
        ranged,
        origin,
        c.pattr,
        at_records=None if c.wattr else "row_num" if c.sattr == ROW_NUM else "rank",
        order="event_time" if c.order == "event_time" else "log",
        align="start" if c.align == "start" else "end",
        cumulate=c.cumulate,
    )
    return next(made for of in _LANGUAGE if (made := of(spelled)) is not None)


def _check_period(c: Clauses, range_: int, slide: int) -> None:
    if range_ % slide:
        assert isinstance(c.range_, Length)  # noqa: S101 - of CUMULATE, as read
        assert c.slide is not None  # noqa: S101 - ensured by earlier rules
        msg = (
            f"RANGE CUMULATE {c.range_.text} SLIDE {c.slide.text}: the range must be a multiple of "
            "the slide, as in RANGE CUMULATE 1 day SLIDE 1 hour, so that a period ends with a "
            "window"
        )
        raise WindowError("E_VALUE", msg)


def _check_attributes(
    c: Clauses, types: Mapping[str, AttributeType], group_by: Sequence[str]
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
    c: Clauses, ranged: str, types: Mapping[str, AttributeType], group_by: Sequence[str]
) -> None:
    if types[ranged] == "text":
        raise WindowError("E_ATTR_TYPE", f"{ranged} is text: windows need a time, a number or rows")
    if ROW_NUM in (c.pattr, *group_by):
        raise WindowError("E_ATTR_TYPE", "PATTR or GROUP BY row_num: a row number is not a key")
    if c.rattr == ROW_NUM:
        raise WindowError("E_RATTR", "RATTR row_num: use WATTR row_num for tuple-based windows")
    if c.sattr not in (None, ROW_NUM, f"rank({c.rattr})"):
        raise WindowError("E_SATTR", f"SATTR {c.sattr}: must be row_num or rank({c.rattr})")
    if c.range_ == "LANDMARK" and c.rattr:
        raise WindowError("E_LANDMARK", "RANGE LANDMARK goes with WATTR, not with RATTR")
    if c.cumulate and (c.rattr or ranged == ROW_NUM):
        msg = "RANGE CUMULATE goes with WATTR over a time or a number, not with rows"
        raise WindowError("E_LANDMARK", f"{msg}: RANGE LANDMARK grows over rows, too")
    if c.origin is not None and (c.rattr or ranged == ROW_NUM):
        raise WindowError("E_ORIGIN", "ORIGIN goes with WATTR over an attribute, not with rows")
    if c.order is not None and c.wattr != ROW_NUM:
        raise WindowError("E_ORDER", "ORDER goes with WATTR row_num only")
    if c.align == "start" and (c.rattr or c.range_ == "LANDMARK" or c.cumulate):
        raise WindowError("E_ORIGIN", "ALIGN start goes with RANGE … SLIDE … WATTR")
