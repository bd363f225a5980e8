"""The check at the start of a job: compare its checkpoint with the tables of its sink.

The comparison is the job's own (`jobs.checkpoints.agreement`), which real runs use at their start;
this module describes the simulated platform to it. A checkpoint that was restored from an old copy
is behind its tables: the tables' batches are rerun by the tables' plans, and ignored by the sink. A
table that is behind its checkpoint has lost batches; the error names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaos.simulator.platform.sink import Ends
from jobs.checkpoints.agreement import Topic
from jobs.checkpoints.agreement import compare as agreement
from jobs.checkpoints.plans import Checkpoint
from windowing.runtime.token import Kept, Stretch, Tables, Token

_TOPIC, _ENDLESS = "simulated", 2**62


@dataclass(frozen=True)
class StartCheck:
    """The result of the comparison at the start of a job.

    Attributes:
        follow: plans of the batches that only the tables have.
        behind: tables that lack batches that the checkpoint has committed.
    """

    follow: tuple[Ends, ...]
    behind: tuple[str, ...]


def compare(
    planned: Sequence[Ends],
    commits: int,
    tables: Sequence[str],
    plans: Mapping[str, Mapping[int, Ends]],
) -> StartCheck:
    """Compare a checkpoint with the tables; offsets are indices into the log.

    Args:
        planned: the plan of each batch that the checkpoint knows.
        plans: the plans that the tables have, by table and batch; empty for a lost table.
    """
    held = {batch: end for own in plans.values() for batch, end in own.items()}
    # Which topics the lanes belong to does not matter here.
    lanes = [f"{_TOPIC}/{number}" for number in range(len(next(iter([*planned, *held.values()]))))]
    ends = {-1: (0,) * len(lanes), **dict(enumerate(planned)), **held}
    tokens = {
        batch: Token(batch, stretches(lanes, ends[batch - 1], end))
        for batch, end in sorted(held.items())
    }
    last = {name: max(plans[name]) if plans.get(name) else None for name in tables}
    kept = {name: None if batch is None else Kept(batch) for name, batch in last.items()}
    found = Tables("the simulated sink", tokens, kept)
    return compare_tables(planned, commits, found, lanes, {_TOPIC: _TOPIC})


def compare_tables(
    planned: Sequence[Ends],
    commits: int,
    tables: Tables,
    lanes: Sequence[str],
    topics: Mapping[str, str],
) -> StartCheck:
    """Compare a checkpoint with what tables say of themselves.

    Args:
        planned: the plan of each batch that the checkpoint knows.
        topics: the ids of the topics by name.
    """
    ends = {-1: (0,) * len(lanes), **dict(enumerate(planned))}
    found = agreement(
        Checkpoint(
            "simulated",
            commits - 1,
            len(planned) - 1,
            {batch: dict(zip(lanes, end, strict=True)) for batch, end in ends.items()},
        ),
        tables,
        {name: _topic(id_, lanes, name) for name, id_ in topics.items()},
        known={},
        may_be_compacted=frozenset(),
        fingerprint="",
    )
    # A lane that joined later is not in a token.
    none = Stretch(0, -1)
    follow = tuple(
        tuple(token.lanes.get(lane, none).last + 1 for lane in lanes) for token in found.again
    )
    said = found.mismatches
    named = [name for name in tables.tables if any(f"table {name} " in text for text in said)]
    return StartCheck(follow, tuple(named))


def stretches(lanes: Sequence[str], begin: Ends, end: Ends) -> dict[str, Stretch]:
    """Return what of each lane is between two ends."""
    return {
        lane: Stretch(first, stop - 1) for lane, first, stop in zip(lanes, begin, end, strict=True)
    }


def _topic(id_: str, lanes: Sequence[str], name: str) -> Topic:
    """Return the broker's description of a topic: complete, with more records to come."""
    own = [lane.rpartition("/") for lane in lanes]
    begins = {int(partition): 0 for topic, _, partition in own if topic == name}
    return Topic(id_, begins, dict.fromkeys(begins, _ENDLESS), compacted=False)
