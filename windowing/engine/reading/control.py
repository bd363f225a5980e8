"""Control records in the log: heartbeats, punctuations, the end of a lane; and who may send them.

Their JSON has one of four shapes; the engine honours ends and those that its generator uses, and
ignores the others. Changes of the queries are read by `windowing.model.file.changes`.

A lane judges a record by its length, its signature and its outline, in this order, and then by what
`source.control` says of its kind. Nothing of one that is refused is decoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self

from windowing.engine.reading.objects import BadValue, parse_object
from windowing.model.control import ControlRule, Outline, outline, unsealed
from windowing.model.file.pipeline import Pipeline
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.progress import Delays


@dataclass(frozen=True)
class Control:
    """The content of a control record.

    Attributes:
        bound_us: no record below this instant follows in the lane; None: no bound.
        on: field and value, if the bound applies only to records with that value.
        end: nothing follows in the lane.
        now_us: the clock of a heartbeat's emitter.
        seen_us: by lane, the time of a record that the emitter knows to have arrived.
    """

    bound_us: int | None = None
    on: Mapping[str, Any] | None = None
    end: bool = False
    now_us: int | None = None
    seen_us: Mapping[str, int] = field(default_factory=dict)

    def reached_us(self, delays: Mapping[str, Delays]) -> int | None:
        """Return the latest instant that true time is known to have reached; None: unknown.

        It may exceed 64 bits by a delay.

        Args:
            delays: of each lane; empty if heartbeats are ignored.
        """
        if not delays:
            return None
        known = [] if self.now_us is None else [self.now_us]
        for lane, ts_us in self.seen_us.items():
            if lane in delays:
                known.append(ts_us + delays[lane].min_delay_us - delays[lane].skew_us)
        return max(known, default=None)


class ControlError(ValueError):
    """A control record of an unknown shape."""


def read_control(text: bytes) -> Control:
    """Parse a control record's JSON.

    Raises:
        ControlError: with the text and the shapes that are legal.
    """
    try:
        control = _shape(parse_object(text))
    except BadValue:
        control = None
    if control is None:
        msg = (
            f'{text!r} is not a control record: write {{"bound": us}}, {{"bound": us, "on": …}}, '
            f'{{"now": us, "seen": …}} or {{"end": true}}'
        )
        raise ControlError(msg)
    return control


def _shape(parsed: dict[str, Any]) -> Control | None:
    names = set(parsed)
    if names == {"end"}:
        return Control(end=True) if parsed["end"] is True else None
    if names == {"bound"}:
        return Control(bound_us=parsed["bound"]) if _instant(parsed["bound"]) else None
    if names == {"bound", "on"}:
        if not _instant(parsed["bound"]) or not isinstance(parsed["on"], dict):
            return None
        return Control(bound_us=parsed["bound"], on=parsed["on"])
    if names and names <= {"now", "seen"}:
        seen = parsed.get("seen", {})
        legal = isinstance(seen, dict) and all(map(_instant, seen.values()))
        legal = legal and _instant(parsed.get("now", 0))
        return Control(now_us=parsed.get("now"), seen_us=seen) if legal else None
    return None


def _instant(value: Any) -> bool:
    return type(value) is int and INT64_MIN <= value <= INT64_MAX


@dataclass(frozen=True)
class Gate:
    """What a lane lets in of control records.

    Attributes:
        rule: the source's.
        lanes: how many the pipeline began with.
    """

    rule: ControlRule = field(default_factory=ControlRule)
    lane: str = ""
    lanes: int = 1

    @classmethod
    def of(cls, pipeline: Pipeline, number: int) -> Self:
        """Return the gate of a lane."""
        source, _ = pipeline.source.place(number)
        return cls(source.control, pipeline.source.lane(number), pipeline.source.founding)

    @property
    def signed(self) -> bool:
        """Whether control records have a signature and a counter."""
        return self.rule.key is not None

    def open(self, control: bytes) -> ControlVerdict:
        """Judge a control record.

        Args:
            control: as `windowing.model.control.sealed` spells it.
        """
        rule, found = self.rule, unsealed(control)
        longest = rule.bytes_max(self.lanes, change=rule.believe == "all")
        if rule.believe == "none" or len(found.body) > longest:
            return _REFUSED
        counter = None if rule.secret is None else found.checked(rule.secret, self.lane)
        if rule.secret is not None and counter is None:
            return _REFUSED
        about = outline(found.body)
        if about is None:
            return ControlVerdict(found.body, counter, None)
        if about.change:
            believed = rule.believe == "all" and about.names <= rule.queries
        else:
            believed = len(found.body) <= rule.bytes_max(self.lanes, change=False)
        return ControlVerdict(found.body if believed else None, counter, about)


class ControlVerdict(NamedTuple):
    """A control record that was judged.

    Attributes:
        body: its JSON; None: it is not believed.
        counter: of a signature that is right; None: there is none.
        about: what it is about; None: it is no JSON object.
    """

    body: bytes | None
    counter: int | None
    about: Outline | None


_REFUSED: Final = ControlVerdict(None, None, None)
