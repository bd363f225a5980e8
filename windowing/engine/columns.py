"""Names of the columns of the engine's tables, and where names of users' fields stand.

Names of three kinds stand side by side in a table, and no two of them are ever equal:

- a field's, `=delay` (`field_column`): whatever a user calls a field, its column begins with `=`;
- a state's, `delay#hi` (`state_column`): it has a `#` and never begins with `=`;
- the engine's own, listed here: letters and `_`.

What a column is follows from none of this: roles are data (`windowing.engine.aggregates.schema`).
The names stand in what is stored (`windowing.engine.formats`).
"""

from __future__ import annotations

from typing import Final

# Of a chunk, and of what is made of its records.
OFFSET: Final = "offset"
PARTITION: Final = "partition"
KIND: Final = "kind"
TIME: Final = "ts_us"
REFUSAL: Final = "refusal"

# Of every partial state: how many records it holds, the first and the last of their offsets.
RECORDS: Final = "records"
FIRST_OFFSET: Final = "first"
LAST_OFFSET: Final = "last"

# Where a partial state counts: in which windows, and from which late epoch on.
FIRST_WINDOW: Final = "w_first"
LAST_WINDOW: Final = "w_last"
RELEASE: Final = "release"

# Of tables of single records, and of chains of them.
AT: Final = "at"
AT_FIRST: Final = "at_first"
AT_LAST: Final = "at_last"
GAP: Final = "gap"
CHAIN: Final = "chain"

# When something is shown, and the progress between which that lies.
INSTANT: Final = "instant"
IS_LATE: Final = "late"
BEFORE: Final = "before"
AFTER: Final = "after"

# Of tables of keys: what was promised for each.
KEY_BOUND: Final = "bound"

# Of the rows that a shard emits.
WINDOW_ID: Final = "window_id"
REVISION: Final = "revision"
OFFSETS: Final = "offsets"
KEY: Final = "key"
VALUES: Final = "values"
RETRACTS: Final = "retracts"
ABSORBED_BY: Final = "absorbed_by"

_FIELD = "="
_ESCAPED = (_FIELD, "\\")


def field_column(field: str) -> str:
    """Name the column of a user's field.

    Args:
        field: its name; any text.
    """
    return _FIELD + field


def state_column(field: str, part: str) -> str:
    """Name the column of one part of a field's partial states.

    Args:
        field: its name, or the names of several; any text.
        part: without a `#`, such as `n` or `b017`.
    """
    escape = "\\" if field.startswith(_ESCAPED) else ""
    return f"{escape}{field}#{part}"
