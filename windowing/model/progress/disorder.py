"""Generators of progress, as data: what a lane may assume about the disorder of its records.

Source: Li et al., SIGMOD 2005; the rows of slack are Aurora's, heartbeats Srivastava and Widom's;
`adaptive` is ours.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

from windowing.model.lengths import LENGTH_MAX, duration_us, parse_length

Member = int | str
"""A value of the attribute that names sub-streams."""


@dataclass(frozen=True)
class Slack:
    """Bounded disorder: after a record, none comes that is older than its time less the slack.

    Attributes:
        slack_us: the bound is `ts_us - slack_us`; 0 means sorted (`ordered`).
    """

    slack_us: int


@dataclass(frozen=True)
class SlackRows:
    """No record is more than n rows out of order: the output of a sorting buffer of n rows.

    Attributes:
        rows: n; the bound is the (n+1)-th largest time seen; 0 means sorted.
    """

    rows: int


@dataclass(frozen=True)
class Delays:
    """What is known of one lane's way: clock error, and how long its records take to arrive.

    Attributes:
        max_delay_us, min_delay_us: a record takes between these two.
        skew_us: the source's clock is off by at most this.
    """

    max_delay_us: int
    min_delay_us: int
    skew_us: int


@dataclass(frozen=True)
class Heartbeat:
    """Bounds derived from delays: of a lane's own records, and of what heartbeats have seen.

    Attributes:
        sources: every lane by name.
    """

    sources: tuple[tuple[str, Delays], ...]


@dataclass(frozen=True)
class Punctuation:
    """Records promise nothing; control records do.

    Attributes:
        attr: bounds may be given for one value of this field alone; None: for whole lanes only.
    """

    attr: str | None = None


@dataclass(frozen=True)
class OrderedPer:
    """Each sub-stream (a sensor, say) is sorted, the lane is not.

    Attributes:
        attr: the field that names the sub-stream.
        members: per lane, all its sub-streams: the lane's bound is the smallest of their newest
            times; a lane without any has bounds from control records alone. None: they are not
            known, and progress is per value of `attr`.
    """

    attr: str
    members: tuple[tuple[str, tuple[Member, ...]], ...] | None = None


@dataclass(frozen=True)
class Adaptive:
    """The slack that would have kept the late share of the last records under a target.

    Attributes:
        late: the target, a share below 1.
        over_rows: of how many last records of a lane.
    """

    late: Fraction
    over_rows: int


@dataclass(frozen=True)
class Unordered:
    """No promise at all: for windows in log order, which need none."""


# Another one joins the union and gets a file in `progress/`.
Disorder = Slack | SlackRows | Heartbeat | Punctuation | OrderedPer | Adaptive | Unordered

_RULE = (
    "use ordered, punctuation, {slack: 30 seconds}, {slack: 500 rows}, {punctuation: {attr: f}}, "
    "{ordered_per: {attr: f, members: {topic/0: [a, b]}}}, {heartbeat: {topic/0: {max_delay: 5 s, "
    "min_delay: 0 s, skew: 1 s}}} or {adaptive: {late: 0.1%, over: 1000 rows}}"
)
_SHARE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(%?)")


def progress_attr(disorder: Disorder) -> str | None:
    """The field whose every value has a progress of its own; None: progress is per lane."""
    if isinstance(disorder, Punctuation):
        return disorder.attr
    if isinstance(disorder, OrderedPer) and disorder.members is None:
        return disorder.attr
    return None


def without_lanes(disorder: Disorder, gone: Collection[str]) -> Disorder:
    """A generator as it is without what it says of some lanes."""
    if isinstance(disorder, Heartbeat):
        return Heartbeat(tuple(named for named in disorder.sources if named[0] not in gone))
    if isinstance(disorder, OrderedPer) and disorder.members is not None:
        left = tuple(named for named in disorder.members if named[0] not in gone)
        return OrderedPer(disorder.attr, left)
    return disorder


def without_unit(disorder: Disorder) -> bool:
    """Whether a generator means the same for any attribute, because it names no length of time."""
    return disorder == Slack(0) or isinstance(disorder, SlackRows | OrderedPer | Adaptive)


def parse_disorder_of(value: object) -> Disorder:
    """Read the generator of a plain number, whose slack is one: `{slack: 50}`.

    Raises:
        ValueError: E_DISORDER, with the rule.
    """
    if isinstance(value, Mapping) and set(value) == {"slack"} and type(value["slack"]) is int:
        slack = value["slack"]
        if not 0 <= slack <= LENGTH_MAX:
            msg = f"E_DISORDER: slack {slack} must be from 0 to {LENGTH_MAX}"
            raise ValueError(msg)
        return Slack(slack)
    disorder = parse_disorder(value)
    if not without_unit(disorder):
        msg = (
            f"E_DISORDER: {value!r} is about times, but this attribute is a number: use "
            "ordered, {slack: 50}, {slack: 500 rows}, ordered_per or adaptive"
        )
        raise ValueError(msg)
    return disorder


def parse_disorder(value: object) -> Disorder:
    """Read a generator as a pipeline file spells it.

    Raises:
        ValueError: E_DISORDER, with the rule.
    """
    if value == "ordered":
        return Slack(0)
    if value == "punctuation":
        return Punctuation()
    if isinstance(value, Mapping) and len(value) == 1:
        ((kind, settings),) = value.items()
        if kind in _READERS:
            try:
                return _READERS[kind](settings)
            except ValueError as error:
                msg = f"E_DISORDER: {kind}: {error}"
                raise ValueError(msg) from None
    msg = f"E_DISORDER: {value!r} is not a generator: {_RULE}"
    raise ValueError(msg)


def _slack(value: object) -> Disorder:
    if isinstance(value, str) and parse_length(value).unit == "rows":
        return SlackRows(_rows(value, least=0))
    try:
        return Slack(duration_us(value))
    except ValueError as error:
        msg = f"{error}; an example: {{slack: 30 seconds}}"
        raise ValueError(msg) from None


def _heartbeat(value: object) -> Heartbeat:
    lanes = _mapping(value, "each lane's delays")
    if not lanes:
        msg = "name the delays of every lane, as {topic/0: {max_delay: 5 s, …}}"
        raise ValueError(msg)
    return Heartbeat(tuple((str(lane), _delays(lanes[lane])) for lane in sorted(lanes)))


def _delays(value: object) -> Delays:
    names = ("max_delay", "min_delay", "skew")
    given = _mapping(value, "max_delay, min_delay, skew", required=("max_delay",), known=names)
    longest, shortest, skew = (duration_us(given.get(name, "0 s")) for name in names)
    if shortest > longest:
        msg = f"min_delay {given['min_delay']} is longer than max_delay {given['max_delay']}"
        raise ValueError(msg)
    return Delays(longest, shortest, skew)


def _punctuation(value: object) -> Punctuation:
    return Punctuation(_attr(_mapping(value, "attr", required=("attr",), known=("attr",))))


def _ordered_per(value: object) -> OrderedPer:
    if isinstance(value, str):
        return OrderedPer(value)
    given = _mapping(value, "attr, members", required=("attr",), known=("attr", "members"))
    if "members" not in given:
        return OrderedPer(_attr(given))
    members = _mapping(given["members"], "each lane's list of values")
    listed = sorted((str(lane), _members(lane, values)) for lane, values in members.items())
    return OrderedPer(_attr(given), tuple(listed))


def _members(lane: str, values: object) -> tuple[Member, ...]:
    if isinstance(values, list) and all(type(v) in (int, str) for v in values):
        return tuple(values)
    msg = f"members of {lane}: {values!r} is not a list of texts or whole numbers, as [a, b]"
    raise ValueError(msg)


def _adaptive(value: object) -> Adaptive:
    names = ("late", "over")
    given = _mapping(value, "late, over", required=names, known=names)
    try:
        share = parse_share(given["late"])
    except ValueError as error:
        msg = f"late: {error}"
        raise ValueError(msg) from None
    return Adaptive(share, _rows(given["over"], least=1))


def parse_share(value: object) -> Fraction:
    """Read a share below 1: `0.1%`, `0.001`.

    Raises:
        ValueError: with the rule.
    """
    match = _SHARE.fullmatch(str(value).strip())
    share = Fraction(match.group(1)) / (100 if match.group(2) else 1) if match else None
    if share is None or share >= 1:
        msg = f"{value!r} is not a share below 1: write 0.1% or 0.001"
        raise ValueError(msg)
    return share


def _rows(value: object, *, least: int) -> int:
    length = parse_length(value) if isinstance(value, str) else None
    if length is None or length.unit != "rows":
        msg = f"{value!r} is not a number of rows, as 1000 rows"
        raise ValueError(msg)
    if length.number.denominator != 1 or not least <= length.number < 2**31:
        msg = f"{value!r}: must be a whole number of rows, at least {least}"
        raise ValueError(msg)
    return int(length.number)


def _attr(given: Mapping[str, object]) -> str:
    attr = given["attr"]
    if not isinstance(attr, str):
        msg = f"attr: {attr!r} is not the name of a field"
        raise ValueError(msg)
    return attr


def _mapping(
    value: object,
    what: str,
    *,
    required: tuple[str, ...] = (),
    known: tuple[str, ...] | None = None,
) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        msg = f"{value!r} does not give {what}; {_RULE}"
        raise ValueError(msg)
    unknown = [name for name in value if known is not None and name not in known]
    missing = [name for name in required if name not in value]
    if unknown or missing:
        wrong = f"unknown key {unknown[0]!r}" if unknown else f"{missing[0]} is missing"
        msg = f"{wrong}; {_RULE}"
        raise ValueError(msg)
    return value


_READERS = {
    "slack": _slack,
    "heartbeat": _heartbeat,
    "punctuation": _punctuation,
    "ordered_per": _ordered_per,
    "adaptive": _adaptive,
}
