"""A lane that believes what was signed for another one.

Defect: a signature of any lane of the topic is right.
How one gets it: the signature covers the record, and not the place that it was made for.
Expected: dead letters are missing: what one lane was told can be told to all.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import believing
from windowing.model.control import Sealed

_LANES = 16


class Widespread(Sealed):
    """A control record that is right wherever it was signed for."""

    def checked(self, secret: bytes, lane: str) -> int | None:  # noqa: D102
        topic, own = lane.rpartition("/")[0], super().checked(secret, lane)
        others = (super(Widespread, self).checked(secret, f"{topic}/{n}") for n in range(_LANES))
        return own if own is not None else next((n for n in others if n is not None), None)


BUG = planted_bug(
    believing("signature_of_another_lane", {"windowing.model.control:Sealed": Widespread}),
    *("dead letters", "deterministic", "conservation", "progress", "closing"),
)
