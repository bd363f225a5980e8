"""What a job does first: it compares its checkpoint with the tables of its sink.

A checkpoint that was put back from a copy is behind its tables: the batches that they hold are run
again as the tables' plans say, and passed over. A table that is behind its checkpoint has lost
batches: it is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaos.simulator.sink import Ends


@dataclass(frozen=True)
class Stand:
    """What the comparison came to.

    Attributes:
        follow: the plans of batches that tables hold and the checkpoint does not know.
        behind: tables that lack a batch that the checkpoint has committed.
    """

    follow: tuple[Ends, ...]
    behind: tuple[str, ...]


def compare(
    planned: Sequence[Ends],
    commits: int,
    tables: Sequence[str],
    plans: Mapping[str, Mapping[int, Ends]],
) -> Stand:
    """Compare a checkpoint with the tables.

    Args:
        planned: the plan of each batch that the checkpoint knows.
        commits: how many of them are committed.
        tables: all tables of the pipeline.
        plans: by table and batch, the plans that the tables hold.
    """
    follow: list[Ends] = []
    held = {batch: ends for table in tables for batch, ends in plans.get(table, {}).items()}
    while len(planned) + len(follow) in held:
        follow.append(held[len(planned) + len(follow)])
    behind = [
        table for table in tables if any(n not in plans.get(table, {}) for n in range(commits))
    ]
    return Stand(tuple(follow), tuple(behind))
