"""The policy window of one side of a join, as written in a pipeline file.

Source: Gedik 2014, section 6.1.2; the accepted windows: `spl.md` 10.4.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from windowing.model.operators.attributes import typed
from windowing.model.operators.language import parse_clause, spelled
from windowing.model.operators.models import check_join_window
from windowing.model.source import Source
from windowing.model.windows.policy import WindowClause

_CLAUSE: Final = re.compile(r"\s*(sliding|tumbling)\b.*", re.IGNORECASE | re.DOTALL)


def is_clause(window: object) -> bool:
    """Return whether a side's window is written as a policy window, not as a length of time."""
    return isinstance(window, Mapping) or (
        isinstance(window, str) and _CLAUSE.fullmatch(window) is not None
    )


def parse_side(window: object, source: Source) -> WindowClause:
    """Parse and check the window of a side.

    Args:
        window: text or a mapping, as of any operator.
        source: what its records are.

    Raises:
        WindowError: E_SYNTAX, E_VALUE, E_ATTR_UNKNOWN or E_ATTR_TYPE.
        OperatorError: not a window of a join.
    """
    clause = parse_clause(window, source.event_time.field)
    check_join_window(clause, spelled(clause, source.event_time.field))
    return typed(clause, source)
