"""What can go wrong while a pipeline runs, each with what to do next.

A late or unreadable record is not an error: it is a dead letter, an output like any other.
"""

from __future__ import annotations


class WindowingError(Exception):
    """Base of the runtime's errors; the message ends with what an operator does next."""

    exit_code = 1


class RedeliveredOffset(WindowingError):
    """A record whose offset the lane has passed already, on an engine that never resends."""


class OffsetGap(WindowingError):
    """A hole in the offsets of a source that is declared dense."""


class CheckpointMismatch(WindowingError):
    """State that was written by another pipeline: its file was changed under a checkpoint."""


class OtherVersion(WindowingError):
    """Two workers of one job run two versions of this code."""


class CheckpointDamaged(WindowingError):
    """A file of the checkpoint is missing or holds something else."""


class UndeclaredPartition(WindowingError):
    """A record of a partition that is none of the pipeline's lanes."""


class TokenMismatch(WindowingError):
    """Run, checkpoint, tables and topic do not belong together: going on would lose rows."""


class TableConflict(WindowingError):
    """Tables that are there cannot take the rows of this pipeline."""


class SecondDriver(WindowingError):
    """Another driver works on the same run."""


class ResultOverflow(WindowingError):
    """A sum of integers that leaves 64 bits."""


class StateFull(WindowingError):
    """A batch after which a shard would hold more of a query than its retention allows."""


class BrokenEnvelope(WindowingError):
    """An entry of a log that is not an event of the pipeline's source."""

    exit_code = 2


class BadRecords(WindowingError):
    """A stream that is given for records and lacks what they have, or a session that does."""

    exit_code = 2


class ArrivalOrder(WindowingError):
    """E_ARRIVAL_ORDER: rows are counted as they arrive, and one unit arrives in several lanes."""

    code = "E_ARRIVAL_ORDER"


class TooManyWindows(WindowingError):
    """A step would have to send more windows than any machine holds."""
