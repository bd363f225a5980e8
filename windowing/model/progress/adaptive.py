"""Adaptive slack: the one that would have kept the late share of recent records under a target.

Source: ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from windowing.model.facts import Facts, spelled
from windowing.model.progress.disorder import Disorder, generator
from windowing.model.progress.settings import read_mapping, read_rows

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
        """Parse `{late: 0.1%, over: 1000 rows}`.

        Raises:
            ValueError: with the rule.
        """
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
    """Parse a share below 1: `0.1%`, `0.001`.

    Raises:
        ValueError: with the rule.
    """
    match = _SHARE.fullmatch(str(value).strip())
    share = Fraction(match.group(1)) / (100 if match.group(2) else 1) if match else None
    if share is None or share >= 1:
        msg = f"{value!r} is not a share below 1: write 0.1% or 0.001"
        raise ValueError(msg)
    return share
