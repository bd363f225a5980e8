"""Slack in rows: what a sorting buffer of n rows lets go.

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
        """Read `500 rows`.

        Raises:
            ValueError: with the rule.
        """
        return cls(read_rows(settings, least=0))

    @property
    def unitless(self) -> bool:
        """True: rows are counted, whatever they are ordered by."""
        return True

    def facts(self) -> Facts:
        """The number of rows."""
        return {"slack_rows": self.rows}

    def explained(self, attribute: str, *, timed: bool) -> str:
        """Which of the largest values it is."""
        del timed
        return f"the smallest {attribute} of its {self.rows + 1} largest so far"
