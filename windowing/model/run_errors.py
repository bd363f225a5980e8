"""Errors of a running pipeline, each with what to do next.

A late or unreadable record is not an error: it is a dead letter, an output like any other.
"""

from __future__ import annotations


class WindowingError(Exception):
    """The base of runtime errors; the message ends with what an operator should do next."""

    exit_code = 1


class RedeliveredOffset(WindowingError):
    """A record whose offset the lane has already passed, on an engine that never resends."""


class TangledChunks(WindowingError):
    """Chunks of one lane whose ranges of offsets overlap, on a plan that reads each apart."""


class OffsetGap(WindowingError):
    """A gap in the offsets of a source that is declared dense."""


class CheckpointMismatch(WindowingError):
    """State of another pipeline: the file was changed after the checkpoint was made."""


class OtherVersion(WindowingError):
    """Workers of one job that run different versions of this code."""


class CheckpointDamaged(WindowingError):
    """A checkpoint file that is missing or has the wrong content."""


class UndeclaredPartition(WindowingError):
    """A record of a partition that the pipeline does not declare."""


class TokenMismatch(WindowingError):
    """Mismatched run, checkpoint, tables or topic: continuing would lose rows."""


class TableConflict(WindowingError):
    """Existing tables that cannot take the rows of this pipeline."""


class UnseenFile(WindowingError):
    """A table's file that an executor has written, and the driver cannot see."""


class SecondDriver(WindowingError):
    """Another driver that works on the same run."""


class StateFull(WindowingError):
    """A batch after which a shard would hold more of a query than `retention: entries` allows."""


class BrokenEnvelope(WindowingError):
    """An entry of a log that is not an event of the pipeline's source."""

    exit_code = 2


class BadRecords(WindowingError):
    """A stream given as records that lacks their columns, or a session that lacks the settings."""

    exit_code = 2


class ArrivalOrder(WindowingError):
    """E_ARRIVAL_ORDER: one unit, whose rows are counted on arrival, arrives in several lanes."""

    code = "E_ARRIVAL_ORDER"


class TooManyWindows(WindowingError):
    """A step that would send more windows than a machine can hold."""
