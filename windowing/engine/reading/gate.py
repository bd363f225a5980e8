"""Which control records a lane lets in: of the others no more is parsed than it takes to know that.

A lane judges a record by its length, its signature and its outline, in this order, and then by what
`source.control` says of its kind. Nothing of one that is refused here is decoded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

from windowing.model.control import ControlRule, Outline, outline, unsealed
from windowing.model.file.pipeline import Pipeline


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

    def open(self, control: bytes) -> ControlVerdict:
        """Judge a control record.

        Args:
            control: as `windowing.model.control.sealed` spells it.
        """
        rule, found = self.rule, unsealed(control)
        longest = rule.bytes_max(self.lanes, change=rule.believe == "all")
        if rule.believe == "none" or len(found.body) > longest:
            return _REFUSED
        counter = None if rule.secret is None else found.checked(rule.secret, self.lane)
        if rule.secret is not None and counter is None:
            return _REFUSED
        about = outline(found.body)
        if about is None:
            return ControlVerdict(found.body, counter, None)
        if about.change:
            believed = rule.believe == "all" and about.names <= rule.queries
        else:
            believed = len(found.body) <= rule.bytes_max(self.lanes, change=False)
        return ControlVerdict(found.body if believed else None, counter, about)


class ControlVerdict(NamedTuple):
    """A control record that was judged.

    Attributes:
        body: its JSON; None: it is not believed.
        counter: of a signature that is right; None: there is none.
        about: what it is about; None: it is no JSON object.
    """

    body: bytes | None
    counter: int | None
    about: Outline | None


_REFUSED: Final = ControlVerdict(None, None, None)
