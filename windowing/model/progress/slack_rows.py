"""Slack in rows: the disorder that a sorting buffer of n rows corrects.

Source: Aurora's BSort, as Li et al., SIGMOD 2005, use it.
"""

from __future__ import annotations

from dataclasses import dataclass

from windowing.model.facts import Facts
from windowing.model.progress.disorder import Disorder
from windowing.model.progress.settings import read_rows


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
