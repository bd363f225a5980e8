"""Relational operators over policy windows: Aggregate, Dedup, Join, Sort.

Source: Gedik 2014, section 6. An operator takes tuples and punctuations by port, and sends both. It
accepts the window configurations of its model and refuses all others before anything runs.
"""

from windowing.engine.rows.operators.aggregate import Aggregate, Output
from windowing.engine.rows.operators.dedup import Dedup
from windowing.engine.rows.operators.functions import Custom
from windowing.engine.rows.operators.join import Join, JoinKind
from windowing.engine.rows.operators.operator import Operator, PortOutput, Punctuation
from windowing.engine.rows.operators.sort import Sort, SortOrder
from windowing.model.operators.models import OperatorError
from windowing.model.windows.policy import WindowClause, sliding, tumbling

__all__ = [
    "Aggregate",
    "Custom",
    "Dedup",
    "Join",
    "JoinKind",
    "Operator",
    "OperatorError",
    "Output",
    "PortOutput",
    "Punctuation",
    "Sort",
    "SortOrder",
    "WindowClause",
    "sliding",
    "tumbling",
]
