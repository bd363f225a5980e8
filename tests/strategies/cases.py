"""Whole cases – a pipeline, and lanes for it – as the simulator draws them, and their thresholds.

Hypothesis is the source of every choice, so it shrinks what it has found.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from hypothesis import strategies as st

from chaos.simulator.draw import Wish, draw_log, draw_pipeline, draw_tuning
from chaos.simulator.draw.wish import JOIN, OPERATORS
from windowing.engine.tuning import tuned
from windowing.model import parse_pipeline

Event = dict[str, Any]

_RANDOM = st.randoms(use_true_random=False, note_method_calls=False)


@dataclass(frozen=True)
class Entry:
    """One record of a log, as the definition takes it."""

    source: str
    partition: int
    offset: int
    value: bytes | None
    control: bytes | None
    append_us: int | None


@dataclass(frozen=True)
class Case:
    """A pipeline and a log.

    Attributes:
        pipeline: the text of the file.
        lanes: each lane's events in offset order, as dicts in the shape of EVENTS.jsonl.
    """

    pipeline: str
    lanes: tuple[tuple[Event, ...], ...]

    @property
    def events(self) -> list[Event]:
        """One order of arrival: lane after lane."""
        return [event for lane in self.lanes for event in lane]


def entry(event: Event) -> Entry:
    """Read one event; the value is spelled as Python's json spells it."""
    value = None
    if "value" in event:
        value = json.dumps(event["value"], ensure_ascii=False).encode()
    elif "raw" in event:
        value = event["raw"].encode("utf-8", "surrogatepass")
    control = json.dumps(event["control"]).encode() if "control" in event else None
    place = (event["source"], event["partition"], event["offset"])
    return Entry(*place, value, control, event.get("append_us"))


def lane_of(contents: Iterable[Event], partition: int = 0) -> list[Entry]:
    """The records of a partition of topic s, from what each holds: a value or a control."""
    return [
        entry({"source": "s", "partition": partition, "offset": offset, **content})
        for offset, content in enumerate(contents)
    ]


def events_text(events: list[Event]) -> str:
    """Spell events as an EVENTS.jsonl file."""
    return "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events)


@st.composite
def interleavings(draw: st.DrawFn, lanes: tuple[tuple[Event, ...], ...]) -> list[Event]:
    """An order of arrival of these lanes that keeps the order inside each."""
    turns = [number for number, lane in enumerate(lanes) for _ in lane]
    ahead = [iter(lane) for lane in lanes]
    return [next(ahead[number]) for number in draw(st.permutations(turns))]


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    kind: str = "sliding",
    wide: bool = False,
    bad_values: bool = True,
    records_max: int = 40,
    number: bool = False,
    types: bool = True,
) -> Case:
    """A pipeline and a log for it, without expressions and of one topic.

    Args:
        kind: the class of all windows, one of `KINDS`, or `OPERATORS`; for others than sliding
            ones, PATTR occurs as well.
        wide: windows may be aligned at their starts, later rows discarding or retracting.
        bad_values: whether spoilt values occur (times out of range and records after the end may
            occur in any case).
        number: some windows lie over a plain number instead of the event time.
        types: whether decimals, bools, dates and timestamps occur.
    """
    more = {} if types else {"types": 0.0}
    wish = Wish(
        classes=(kind,),
        number=number,
        wide=wide,
        provisional=False,
        bad_values=bad_values,
        # Queries of one class are alike, and each costs as much as the whole log.
        queries_max=3 if kind == "sliding" else 1 if kind == OPERATORS else 2,
        records_max=records_max,
        long=0,
        crowded=0,
        one_table=0,
        overflow=0,
        refusals=False,
        computed=0,
        **more,
    )
    return _case(draw, wish)


@st.composite
def join_cases(draw: st.DrawFn, records_max: int = 24, kind: str = JOIN) -> Case:
    """A pipeline that joins two topics, and a log of both."""
    wish = Wish(
        classes=(kind,),
        records_max=records_max,
        long=0,
        crowded=0,
        overflow=0,
        refusals=False,
        duplicates=0,
    )
    return _case(draw, wish)


def _case(draw: st.DrawFn, wish: Wish) -> Case:
    rng = draw(_RANDOM)
    text = draw_pipeline(rng, wish)
    return Case(text, draw_log(rng, parse_pipeline(text), wish))


@st.composite
def thresholds(draw: st.DrawFn, *, of_run: bool = True) -> dict[str, int]:
    """Thresholds that do not have their default; those of the run too, if they may change."""
    return draw_tuning(draw(_RANDOM), of_run=of_run)


def any_thresholds(test: Callable[..., None]) -> Callable[..., None]:
    """Let a test with `data` run with drawn thresholds."""

    @wraps(test)
    def with_thresholds(*args: Any, data: st.DataObject, **rest: Any) -> None:
        with tuned(**data.draw(thresholds())):
            test(*args, data=data, **rest)

    return with_thresholds
