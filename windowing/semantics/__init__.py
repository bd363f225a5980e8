"""The definition: the rows of a pipeline, given the log. Slow and obvious; the oracle.

It reads the whole log at once and derives each window's content, without state, slices or an order
of evaluation. It imports `windowing.model` but nothing of the engine, so that the two cannot share
a bug. Read `definition` first; each rule has its own file.
"""

from windowing.semantics.definition import Outcome, evaluate
from windowing.semantics.flow_kinds import RowId, meaning_of
from windowing.semantics.log import BadLogError, LogEntry, LogOrder
from windowing.semantics.parts import Division, PartOutcome, Stream, evaluate_part
from windowing.semantics.view import attribute_of

__all__ = [
    "BadLogError",
    "Division",
    "LogEntry",
    "LogOrder",
    "Outcome",
    "PartOutcome",
    "RowId",
    "Stream",
    "attribute_of",
    "evaluate",
    "evaluate_part",
    "meaning_of",
]
