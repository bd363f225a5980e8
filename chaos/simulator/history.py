"""What a simulated run leaves behind: the evidence that the checks judge."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from chaos.readers.output import Identity

Line = tuple[Identity, str]
Lines = frozenset[str]


@dataclass(frozen=True)
class Metric:
    """What a lane said of one batch and one query.

    Attributes:
        lane: `topic/partition`.
        query: the query's name.
        counts: read, applied, outside, dropped, dead.
        progress_us: the lane's progress after the batch; None: it has none yet.
        ended: whether the lane has ended.
    """

    lane: str
    query: str
    counts: tuple[int, int, int, int, int]
    progress_us: int | None
    ended: bool


@dataclass
class Batch:
    """What the sink holds of one batch.

    Attributes:
        rows, dead: lines with their identities, as often as they stand in the sink.
        metrics: what the lanes said.
    """

    rows: list[Line] = field(default_factory=list)
    dead: list[Line] = field(default_factory=list)
    metrics: list[Metric] = field(default_factory=list)


@dataclass
class SimulationHistory:
    """A run, as it can be seen from outside.

    Attributes:
        ends: per batch, how many records of each partition were delivered by its end.
        batches: per batch, what the sink holds of it.
        attempts: per batch, the rows and dead letters that each attempt at it came to.
        faults: how often each kind of fault took effect.
        skipped: what was damaged, lost or sent again, and what the job did not complain of.
        commits: how many batches were committed; None: all of `ends`.
        error: the engine's own error where it broke off; None: it did not.
        error_kind: the name of its class.
    """

    ends: list[tuple[int, ...]] = field(default_factory=list)
    batches: dict[int, Batch] = field(default_factory=lambda: defaultdict(Batch))
    attempts: dict[int, list[Lines]] = field(default_factory=lambda: defaultdict(list))
    faults: Counter[str] = field(default_factory=Counter)
    skipped: list[str] = field(default_factory=list)
    commits: int | None = None
    error: str | None = None
    error_kind: str = ""
