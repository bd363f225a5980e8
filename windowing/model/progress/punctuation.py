"""Punctuation: records promise nothing; control records do.

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
        attr: bounds may be given for one value of this field alone; None: for whole lanes only.
    """

    name = "punctuation"
    attr: str | None = None

    @classmethod
    def parse(cls, settings: object) -> Punctuation:
        """Read `{attr: f}`, or nothing.

        Raises:
            ValueError: with the rule.
        """
        if settings is None:
            return cls()
        given = read_mapping(settings, "attr", required=("attr",), known=("attr",))
        return cls(read_attr(given))

    @property
    def looks_at(self) -> str | None:
        """The field that names what bounds may be given for."""
        return self.attr

    @property
    def progress_attr(self) -> str | None:
        """The field that bounds may be given for a value of."""
        return self.attr

    def facts(self) -> Facts:
        """The field."""
        return {"punctuation": self.attr}

    def explained(self, attribute: str, *, timed: bool) -> str:
        """Whose bounds they are."""
        del attribute, timed
        return "the largest bound of its control records"
