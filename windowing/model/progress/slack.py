"""Bounded disorder: no record is older than the largest time by more than a slack, or n rows late.

Source: Li et al., SIGMOD 2005; slack in rows is Aurora's BSort, as they use it.
"""

from __future__ import annotations

from dataclasses import dataclass

from windowing.model.facts import Facts
from windowing.model.lengths import duration_us, parse_length, spell_us
from windowing.model.progress.disorder import GENERATORS, Disorder, generator
from windowing.model.progress.settings import RULE, read_rows


@dataclass(frozen=True)
class SlackRows(Disorder):
    """No record is more than n rows out of order; spelled `{slack: 500 rows}`.

    Attributes:
        rows: n; the bound is the (n+1)-th largest time seen; 0 means sorted.
    """

    name = "slack_rows"
    rows: int

    @classmethod
    def parse(cls, settings: object) -> SlackRows:
        """Parse `500 rows`.

        Raises:
            ValueError: with the rule.
        """
        return cls(read_rows(settings, least=0))

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
