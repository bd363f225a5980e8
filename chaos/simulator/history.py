"""The history of a simulated run: the evidence that the checks judge."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from chaos.readers.output import Line
from windowing.model.fates import Counts
from windowing.model.rows import Row

Lines = frozenset[str]


@dataclass(frozen=True)
class Metric:
    """The metrics of a lane for one batch and one query.

    Attributes:
        lane: `topic/partition`.
        progress_us: the lane's progress after the batch; None: not yet known.
    """

    lane: str
    query: str
    counts: Counts
    progress_us: int | None
    ended: bool


@dataclass
class Batch:
    """The content of the sink from one batch.

    Attributes:
        rows, dead: lines with their identities, as often as they occur in the sink.
    """

    rows: list[Line] = field(default_factory=list)
    dead: list[Line] = field(default_factory=list)
    metrics: list[Metric] = field(default_factory=list)


@dataclass
class SimulationHistory:
    """A run as seen from outside.

    Attributes:
        ends: per batch, the number of records of each partition delivered by its end.
        attempts: per batch, the rows and dead letters of each attempt.
        early: per batch, the early rows of the last attempt.
        heard: per batch, the clock of the last attempt, and the lanes of which it had chunks.
        joined: the lanes that joined, each with the number of batches that were committed before.
        skipped: damage, losses and redeliveries that the job did not report.
        unsound: what is wrong with tables, whatever their rows are.
        commits: number of committed batches; None: all of `ends`.
        error: the error with which the engine failed; None: it did not fail.
        error_kind: the name of the error's class.
    """

    ends: list[tuple[int, ...]] = field(default_factory=list)
    batches: dict[int, Batch] = field(default_factory=lambda: defaultdict(Batch))
    attempts: dict[int, list[Lines]] = field(default_factory=lambda: defaultdict(list))
    early: dict[int, list[Row]] = field(default_factory=dict)
    heard: dict[int, tuple[int, frozenset[int]]] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)
    joined: dict[int, int] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    unsound: list[str] = field(default_factory=list)
    commits: int | None = None
    error: str | None = None
    error_kind: str = ""

    @property
    def never_read(self) -> int:
        """How many lanes joined behind the last batch."""
        return sum(at >= len(self.ends) for at in self.joined.values())
