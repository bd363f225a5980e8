"""The built-in generators as data: what each promises of a lane, and how its settings are spelled.

Source: Li et al., SIGMOD 2005; slack in rows is Aurora's BSort, as they use it; heartbeats are of
Srivastava and Widom, "Flexible Time Management in Data Stream Systems", PODS 2004. Adaptive slack,
progress per sub-stream, and bounds for the values of one field are ours.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

from windowing.model.facts import Facts, spelled, without_defaults
from windowing.model.lengths import duration_us, parse_length, spell_us
from windowing.model.progress.disorder import (
    GENERATORS,
    RULE,
    Disorder,
    generator,
    only_lanes,
    read_attr,
    read_mapping,
    read_rows,
)
from windowing.model.types import FieldType


@dataclass(frozen=True)
class Unordered(Disorder):
    """No promise at all: for windows in log order, which need none. It has no syntax."""

    name = "unordered"

    def facts(self) -> Facts:
        """Return the name alone."""
        return {"unordered": True}

    def explained(self, attribute: str, *, timed: bool) -> str:
        """Return a sentence about the bounds that remain: those of control records."""
        del attribute, timed
        return "the largest bound of its control records"


@dataclass(frozen=True)
class SlackRows(Disorder):
    """No record is more than n rows out of order; spelled `{slack: 500 rows}`.

    Attributes:
        rows: n; the bound is the (n+1)-th largest time seen; 0 means sorted.
    """

    name = "slack_rows"
    rows: int

    @property
    def unitless(self) -> bool:
        """True: rows are counted, not measured."""
        return True

    def facts(self) -> Facts:
        """Return the number of rows."""
        return {"slack_rows": self.rows}

    def explained(self, attribute: str, *, timed: bool) -> str:
        """Return a sentence about which of the largest values is the bound."""
        del timed
        return f"the smallest {attribute} of its {self.rows + 1} largest so far"


@generator("slack")
@dataclass(frozen=True)
class Slack(Disorder):
    """A bound after each record: its time minus the slack.

    Attributes:
        slack_us: the bound is `ts_us - slack_us`; 0 means sorted (`ordered`). A plain number for
            attributes other than the event time.
    """

    name = "slack"
    slack_us: int

    @classmethod
    def parse(cls, settings: object) -> Disorder:
        """Parse `30 seconds`, or `500 rows`."""
        if isinstance(settings, str) and parse_length(settings).unit == "rows":
            return SlackRows(read_rows(settings, least=0))
        try:
            return cls(duration_us(settings))
        except ValueError as error:
            msg = f"{error}; an example: {{slack: 30 seconds}}"
            raise ValueError(msg) from None

    @property
    def unitless(self) -> bool:
        """Whether the records are sorted."""
        return self.slack_us == 0

    def facts(self) -> Facts:
        """Return the slack."""
        return {"slack": self.slack_us}

    def explained(self, attribute: str, *, timed: bool) -> str:
        """Return a sentence about what is subtracted from the largest value."""
        length = spell_us(self.slack_us) if timed else self.slack_us
        return f"its largest {attribute} so far" + (f" - {length}" if self.slack_us else "")


def parse_ordered(settings: object) -> Slack:
    """Parse `ordered`, which has no settings."""
    if settings is not None:
        msg = f"it has no settings; {RULE}"
        raise ValueError(msg)
    return Slack(0)


GENERATORS.add("ordered", parse_ordered, f"{__name__}.{parse_ordered.__qualname__}")


_SHARE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(%?)")


@generator("adaptive")
@dataclass(frozen=True)
class Adaptive(Disorder):
    """The slack that would have kept the late share of the last records under a target.

    Attributes:
        late: the target, a share below 1.
        over_rows: over how many of a lane's last records.
    """

    name = "adaptive"
    late: Fraction
    over_rows: int

    @classmethod
    def parse(cls, settings: object) -> Adaptive:
        """Parse `{late: 0.1%, over: 1000 rows}`."""
        names = ("late", "over")
        given = read_mapping(settings, "late, over", required=names, known=names)
        try:
            share = parse_share(given["late"])
        except ValueError as error:
            msg = f"late: {error}"
            raise ValueError(msg) from None
        return cls(share, read_rows(given["over"], least=1))

    @property
    def unitless(self) -> bool:
        """True: the slack is in the unit of the attribute."""
        return True

    def facts(self) -> Facts:
        """The target and the number of rows."""
        return {"adaptive": [spelled(self.late), self.over_rows]}

    def explained(self, attribute: str, *, timed: bool) -> str:
        """Return a sentence about the slack that is subtracted from the largest value."""
        del timed
        had = f"the slack that had {self.late} of its last {self.over_rows} records late"
        return f"its largest {attribute} so far less {had}"


def parse_share(value: object) -> Fraction:
    """Parse a share below 1: `0.1%`, `0.001`."""
    match = _SHARE.fullmatch(str(value).strip())
    share = Fraction(match.group(1)) / (100 if match.group(2) else 1) if match else None
    if share is None or share >= 1:
        msg = f"{value!r} is not a share below 1: write 0.1% or 0.001"
        raise ValueError(msg)
    return share


Member = int | str
"""A sub-stream's value of the attribute."""


@generator("ordered_per")
@dataclass(frozen=True)
class OrderedPer(Disorder):
    """Each sub-stream (a sensor, say) is sorted; the lane is not.

    Attributes:
        attr: the field that names the sub-stream.
        members: all sub-streams of each lane: the lane's bound is the smallest of their newest
            times; a lane without any has bounds from control records only. None: unknown; progress
            is then per value of `attr`.
    """

    name = "ordered_per"
    attr: str
    members: tuple[tuple[str, tuple[Member, ...]], ...] | None = None

    @classmethod
    def parse(cls, settings: object) -> OrderedPer:
        """Parse `f`, or `{attr: f, members: {topic/0: [a, b]}}`."""
        if isinstance(settings, str):
            return cls(settings)
        known = ("attr", "members")
        given = read_mapping(settings, "attr, members", required=("attr",), known=known)
        if "members" not in given:
            return cls(read_attr(given))
        members = read_mapping(given["members"], "each lane's list of values")
        listed = sorted((str(lane), _members(lane, values)) for lane, values in members.items())
        return cls(read_attr(given), tuple(listed))

    @property
    def looks_at(self) -> str | None:
        """The field that names the sub-stream."""
        return self.attr

    @property
    def progress_attr(self) -> str | None:
        """The field that names the sub-streams if they are unknown, else None."""
        return self.attr if self.members is None else None

    @property
    def named_lanes(self) -> Collection[str] | None:
        """The lanes with known sub-streams."""
        return None if self.members is None else [lane for lane, _ in self.members]

    @property
    def unitless(self) -> bool:
        """True: being sorted needs no unit."""
        return True

    def without_lanes(self, gone: Collection[str]) -> OrderedPer:
        """Return the generator without the sub-streams of some lanes."""
        if self.members is None:
            return self
        return OrderedPer(self.attr, only_lanes(self.members, gone))

    def misfit(self, fields: Mapping[str, FieldType]) -> str | None:
        """Return a message about a field or a first member of the wrong type, or None."""
        kind = {"int": int, "string": str}.get(fields[self.attr].kind)
        for member in (value for _, values in self.members or () for value in values):
            if type(member) is not kind:
                return f"{member!r} is no value of {self.attr}"
        return None

    def facts(self) -> Facts:
        """Return the field and its members, whose order is that of a lane's state."""
        members = None if self.members is None else dict(self.members)
        return {
            "ordered_per": without_defaults(
                {"attr": self.attr, "members": members}, {"members": None}
            )
        }

    def explained(self, attribute: str, *, timed: bool) -> str:
        """Return a sentence about which of the newest values is the bound."""
        del timed
        if self.members is None:
            return f"of each {self.attr} by itself: its largest {attribute} so far"
        return f"the smallest newest {attribute} of its values of {self.attr}"


def _members(lane: str, values: object) -> tuple[Member, ...]:
    if isinstance(values, list) and all(type(v) in (int, str) for v in values):
        return tuple(values)
    msg = f"members of {lane}: {values!r} is not a list of texts or whole numbers, as [a, b]"
    raise ValueError(msg)


@generator("punctuation")
@dataclass(frozen=True)
class Punctuation(Disorder):
    """The bounds of control records.

    Attributes:
        attr: the field for whose values bounds may be given; None: only whole lanes.
    """

    name = "punctuation"
    attr: str | None = None

    @classmethod
    def parse(cls, settings: object) -> Punctuation:
        """Parse `{attr: f}`, or None."""
        if settings is None:
            return cls()
        given = read_mapping(settings, "attr", required=("attr",), known=("attr",))
        return cls(read_attr(given))

    @property
    def looks_at(self) -> str | None:
        """The field for whose values bounds may be given."""
        return self.attr

    @property
    def progress_attr(self) -> str | None:
        """The field for whose values bounds may be given."""
        return self.attr

    def facts(self) -> Facts:
        """Return the field."""
        return {"punctuation": self.attr}

    def explained(self, attribute: str, *, timed: bool) -> str:
        """Return a sentence about the control records that give bounds."""
        del attribute, timed
        return "the largest bound of its control records"


@dataclass(frozen=True)
class Delays:
    """Limits of one lane's clock error and of its records' delay.

    Attributes:
        max_delay_us, min_delay_us: the range of a record's delay.
        skew_us: the largest error of the source's clock.
    """

    max_delay_us: int
    min_delay_us: int
    skew_us: int

    @classmethod
    def parse(cls, value: object) -> Delays:
        """Parse `{max_delay: 5 s, min_delay: 0 s, skew: 1 s}`; the last two are optional."""
        names = ("max_delay", "min_delay", "skew")
        what = "max_delay, min_delay, skew"
        given = read_mapping(value, what, required=("max_delay",), known=names)
        longest, shortest, skew = (duration_us(given.get(name, "0 s")) for name in names)
        if shortest > longest:
            msg = f"min_delay {given['min_delay']} is longer than max_delay {given['max_delay']}"
            raise ValueError(msg)
        return cls(longest, shortest, skew)


@generator("heartbeat")
@dataclass(frozen=True)
class Heartbeat(Disorder):
    """Bounds derived from delays: of a lane's own records, and of what heartbeats have seen.

    Attributes:
        sources: every lane by name.
    """

    name = "heartbeat"
    sources: tuple[tuple[str, Delays], ...]

    @classmethod
    def parse(cls, settings: object) -> Heartbeat:
        """Parse each lane's delays."""
        lanes = read_mapping(settings, "each lane's delays")
        if not lanes:
            msg = "name the delays of every lane, as {topic/0: {max_delay: 5 s, …}}"
            raise ValueError(msg)
        return cls(tuple((str(lane), Delays.parse(lanes[lane])) for lane in sorted(lanes)))

    @property
    def named_lanes(self) -> Collection[str]:
        """The lanes with known delays."""
        return [lane for lane, _ in self.sources]

    def without_lanes(self, gone: Collection[str]) -> Heartbeat:
        """Return the generator without the delays of some lanes."""
        return Heartbeat(only_lanes(self.sources, gone))

    def facts(self) -> Facts:
        """Return each lane's delays."""
        delays = {
            lane: [one.max_delay_us, one.min_delay_us, one.skew_us] for lane, one in self.sources
        }
        return {"heartbeat": delays}

    def explained(self, attribute: str, *, timed: bool) -> str:
        """Return a sentence about both kinds of bounds."""
        del timed
        left = "less what its delays leave open, or what heartbeats have seen"
        return f"its largest {attribute} so far, {left}"
