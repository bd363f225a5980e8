"""Punctuation: bounds come from control records, not from data records.

Source: Li et al., SIGMOD 2005; bounds for the values of one field are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

from windowing.model.facts import Facts
from windowing.model.progress.disorder import Disorder, generator
from windowing.model.progress.settings import read_attr, read_mapping


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
        """Parse `{attr: f}`, or None.

        Raises:
            ValueError: with the rule.
        """
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
