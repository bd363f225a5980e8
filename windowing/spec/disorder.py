"""Generators of progress, as data: what a lane may assume about the disorder of its records."""

from __future__ import annotations

from dataclasses import dataclass

from windowing.spec.lengths import duration_us, parse_length


@dataclass(frozen=True)
class Slack:
    """Bounded disorder: after a record, none comes that is older than its time less the slack.

    Attributes:
        slack_us: the bound is `ts_us - slack_us`; 0 means sorted (`ordered`).
    """

    slack_us: int


# The generators of this release; another one joins the union and gets a file in `progress/`.
Disorder = Slack

_RULE = "use ordered or {slack: 30 seconds}"
_LATER = ("punctuation", "heartbeat", "ordered_per", "adaptive")


def parse_disorder(value: object) -> Disorder:
    """Read `ordered` or `{slack: 30 seconds}`.

    Raises:
        ValueError: E_DISORDER, with the rule.
    """
    if value == "ordered":
        return Slack(0)
    if isinstance(value, dict) and set(value) == {"slack"}:
        return Slack(_slack_us(value["slack"]))
    named = next(iter(value), "") if isinstance(value, dict) else value
    if named in _LATER:
        msg = f"E_DISORDER: the generator {named!r} is not in this release: {_RULE}"
    else:
        msg = f"E_DISORDER: {value!r} is not a generator: {_RULE}"
    raise ValueError(msg)


def _slack_us(text: object) -> int:
    try:
        if isinstance(text, str) and parse_length(text).unit == "rows":
            msg = f"slack in rows ({text}) is not in this release"
            raise ValueError(msg)
        return duration_us(text)
    except ValueError as error:
        msg = f"E_DISORDER: {error}; an example: {{slack: 30 seconds}}"
        raise ValueError(msg) from None
