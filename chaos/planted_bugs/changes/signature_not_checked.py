"""A lane that believes every control record that has the headers of a signature.

Defect: the signature is not computed; its counter is compared.
How one gets it: the header is taken for the proof.
Expected: dead letters are missing, and what a stranger writes counts.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import believing
from windowing.model.control import Sealed


class Credulous(Sealed):
    """A control record that is right if it has a counter."""

    def checked(self, secret: bytes, lane: str) -> int | None:  # noqa: D102
        del secret, lane
        counter = self.counter or b""
        digits = self.signature is not None and counter.isdigit() and len(counter) <= 18
        return int(counter) if digits else None


BUG = planted_bug(
    believing("signature_not_checked", {"windowing.model.control:Sealed": Credulous}),
    *("dead letters", "deterministic", "conservation", "progress", "closing", "no error"),
)
