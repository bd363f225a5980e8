"""Sorted sub-streams in a lane that is not itself sorted.

Source: Li et al., SIGMOD 2005; progress per sub-stream is ours.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from windowing.model.facts import Facts, without_defaults
from windowing.model.fields import FieldType
from windowing.model.progress.disorder import Disorder, generator, only_lanes
from windowing.model.progress.settings import read_attr, read_mapping

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
        """Parse `f`, or `{attr: f, members: {topic/0: [a, b]}}`.

        Raises:
            ValueError: with the rule.
        """
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
        """Return a message about the first member of the wrong type, or None."""
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
