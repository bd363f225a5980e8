"""State that lies apart, of which the newest piece is not read when it is due.

Defect: of the pieces after a horizon, one is left out, and then deleted with the others.
How one gets it: an off-by-one between the number of pieces and the number of the last one.
Expected: windows hold too little.
"""

from __future__ import annotations

from collections.abc import Iterator

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import planted
from windowing.engine import tables
from windowing.engine.state import StateStore

_all = tables._apart


def all_but_one(store: StateStore, pieces: int) -> Iterator[tuple[str, bytes]]:
    """Read all pieces but the newest."""
    return _all(store, max(pieces - 1, 0))


BUG = planted_bug(
    planted("newest_piece_not_read", names={"windowing.engine.tables:_apart": all_but_one}),
    "deterministic",
)
