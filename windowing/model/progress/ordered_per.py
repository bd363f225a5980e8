"""Sorted sub-streams: each of them is sorted, the lane is not.

Source: Li et al., SIGMOD 2005; progress per sub-stream is ours.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from windowing.model.facts import Facts, told
from windowing.model.fields import FieldType
from windowing.model.progress.disorder import Disorder, generator, only_lanes
from windowing.model.progress.settings import read_attr, read_mapping

Member = int | str
"""A value of the attribute that names sub-streams."""


@generator("ordered_per")
@dataclass(frozen=True)
class OrderedPer(Disorder):
    """Each sub-stream (a sensor, say) is sorted, the lane is not.

    Attributes:
        attr: the field that names the sub-stream.
        members: per lane, all its sub-streams: the lane's bound is the smallest of their newest
            times; a lane without any has bounds from control records alone. None: they are not
            known, and progress is per value of `attr`.
    """

    name = "ordered_per"
    attr: str
    members: tuple[tuple[str, tuple[Member, ...]], ...] | None = None

    @classmethod
    def parse(cls, settings: object) -> OrderedPer:
        """Read `f`, or `{attr: f, members: {topic/0: [a, b]}}`.

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
        """The field that names the sub-streams, where they are not known."""
        return self.attr if self.members is None else None

    @property
    def named_lanes(self) -> Collection[str] | None:
        """The lanes whose sub-streams are known."""
        return None if self.members is None else [lane for lane, _ in self.members]

    @property
    def unitless(self) -> bool:
        """True: sorted is sorted by any attribute."""
        return True

    def without_lanes(self, gone: Collection[str]) -> OrderedPer:
        """The same sub-streams without those of some lanes."""
        if self.members is None:
            return self
        return OrderedPer(self.attr, only_lanes(self.members, gone))

    def misfit(self, fields: Mapping[str, FieldType]) -> str | None:
        """The first member that is no value of the field."""
        kind = {"int": int, "string": str}.get(fields[self.attr].kind)
        for member in (value for _, values in self.members or () for value in values):
            if type(member) is not kind:
                return f"{member!r} is no value of {self.attr}"
        return None

    def facts(self) -> Facts:
        """The field and its members, in their order: that of what a lane remembers of them."""
        members = None if self.members is None else dict(self.members)
        return {"ordered_per": told({"attr": self.attr, "members": members}, {"members": None})}

    def explained(self, attribute: str, *, timed: bool) -> str:
        """Which of the newest values it is."""
        del timed
        if self.members is None:
            return f"of each {self.attr} by itself: its largest {attribute} so far"
        return f"the smallest newest {attribute} of its values of {self.attr}"


def _members(lane: str, values: object) -> tuple[Member, ...]:
    if isinstance(values, list) and all(type(v) in (int, str) for v in values):
        return tuple(values)
    msg = f"members of {lane}: {values!r} is not a list of texts or whole numbers, as [a, b]"
    raise ValueError(msg)
