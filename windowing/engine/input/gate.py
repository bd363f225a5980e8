"""Which control records a lane lets in: of the others no more is parsed than it takes to know that.

A lane judges a record by its length, its signature and its outline, in this order, and then by what
`source.control` says of its kind. The cost of one that is refused does not grow with its length.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Self, TypeVar

import msgspec

from windowing.model.control import ControlRule, unsealed
from windowing.model.file.pipeline import Pipeline


class _Names(msgspec.Struct):
    """The names in a change of the queries; their values stay text."""

    add: dict[str, msgspec.Raw] = {}
    remove: dict[str, msgspec.Raw] = {}


_Outline = TypeVar("_Outline")

_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NAMES: Final = msgspec.json.Decoder(_Names)


@dataclass(frozen=True)
class Gate:
    """What a lane lets in of control records.

    Attributes:
        rule: the source's.
        lane: the lane's name.
        lanes: how many the pipeline began with.
    """

    rule: ControlRule = field(default_factory=ControlRule)
    lane: str = ""
    lanes: int = 1

    @classmethod
    def of(cls, pipeline: Pipeline, number: int) -> Self:
        """Return the gate of a lane."""
        source, _ = pipeline.source.place(number)
        return cls(source.control, pipeline.source.lane(number), pipeline.source.founding)

    @property
    def signed(self) -> bool:
        """Whether control records have a signature and a counter."""
        return self.rule.key is not None

    def open(self, control: bytes) -> tuple[bytes | None, int | None]:
        """Return the JSON of a control record, and the counter of a signature that is right.

        Args:
            control: as `windowing.model.control.sealed` spells it.

        Returns:
            None for the JSON: it is not believed.
        """
        rule, found = self.rule, unsealed(control)
        longest = rule.bytes_max(self.lanes, change=rule.believe == "all")
        if rule.believe == "none" or len(found.body) > longest:
            return None, None
        counter = None if rule.secret is None else found.checked(rule.secret, self.lane)
        if (rule.secret is not None and counter is None) or self._is_too_much(found.body):
            return None, counter
        return found.body, counter

    def _is_too_much(self, body: bytes) -> bool:
        """Whether a record's outline says that it is not believed; False: it has to be parsed."""
        long = len(body) > self.rule.bytes_max(self.lanes, change=False)
        members = _decoded(_MEMBERS, body)
        if members is None:
            return False
        if {*members} != {"queries"}:
            return long
        if self.rule.believe != "all":
            return True
        names = _decoded(_NAMES, bytes(members["queries"]))
        return names is not None and max(len(names.add), len(names.remove)) > self.rule.queries


def _decoded(decoder: msgspec.json.Decoder[_Outline], body: bytes) -> _Outline | None:
    """Return what a decoder makes of a text; None: it is no such JSON."""
    try:
        return decoder.decode(body.decode())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
