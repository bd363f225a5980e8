"""The definition: what the rows of a pipeline are, given the log. Slow, obvious, the oracle.

It reads the whole log at once and says for every window what it holds, with no state, no slices
and no order of evaluation. It imports `windowing.model` and nothing of the engine, so that the two
cannot share a bug. Read `definition` first; each rule it uses has a file of its own.
"""

from windowing.semantics.definition import Counts, Outcome, RowId, evaluate, held_by
from windowing.semantics.log import BadLogError, LogEntry

__all__ = ["BadLogError", "Counts", "LogEntry", "Outcome", "RowId", "evaluate", "held_by"]
