"""Bounded disorder: after a record, no record is older than its time minus the slack.

Source: Li et al., SIGMOD 2005.
"""

from __future__ import annotations

from dataclasses import dataclass

from windowing.model.facts import Facts
from windowing.model.lengths import duration_us, parse_length, spell_us
from windowing.model.progress.disorder import GENERATORS, Disorder, generator
from windowing.model.progress.settings import RULE
from windowing.model.progress.slack_rows import SlackRows


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
        """Parse `30 seconds`, or `500 rows`.

        Raises:
            ValueError: with the rule.
        """
        if isinstance(settings, str) and parse_length(settings).unit == "rows":
            return SlackRows.parse(settings)
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
    """Parse `ordered`, which has no settings.

    Raises:
        ValueError: with the rule.
    """
    if settings is not None:
        msg = f"it has no settings; {RULE}"
        raise ValueError(msg)
    return Slack(0)


GENERATORS.add("ordered", parse_ordered, f"{__name__}.{parse_ordered.__qualname__}")
