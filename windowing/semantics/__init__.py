"""The definition: the rows of a pipeline, given the log. Slow and obvious; the oracle.

It reads the whole log at once and says what each window holds, without state, slices or an order of
evaluation. It imports `windowing.model` and nothing of the engine, so that the two cannot share a
bug. Read `definition` first; each rule it uses has a file of its own.
"""

from windowing.semantics.definition import Counts, Outcome, RowId, evaluate, held_by
from windowing.semantics.log import BadLogError, LogEntry

__all__ = ["BadLogError", "Counts", "LogEntry", "Outcome", "RowId", "evaluate", "held_by"]
