"""Names of columns in the engine's tables, and of users' fields among them.

A table mixes names of three kinds, which never collide:

- a field's, `=delay` (`field_column`): it begins with `=`, whatever the field's name;
- a state's, `delay#hi` (`state_column`): it contains `#` and never begins with `=`;
- the engine's own, listed here: letters and `_`.

Names do not decide what a column is: roles are data (`windowing.engine.aggregates.schema`). The
names are part of the stored format (`windowing.engine.storage.formats`).
"""

from __future__ import annotations

from typing import Final

# Of chunks, and tables made from their records.
OFFSET: Final = "offset"
PARTITION: Final = "partition"
KIND: Final = "kind"
TIME: Final = "ts_us"
WRITTEN_TIME: Final = "_instant"  # the event time in the file's unit; of a text, microseconds
REFUSAL: Final = "refusal"
COUNTER: Final = "counter"
FATE: Final = "fate"
WARNED: Final = "warned"  # the rules that only warn and a record breaks: a bit for each

# Of every partial state: its number of records, and their first and last offset.
RECORDS: Final = "records"
FIRST_OFFSET: Final = "first"
LAST_OFFSET: Final = "last"

# The windows that a partial state counts in, and from which late epoch on.
FIRST_WINDOW: Final = "w_first"
LAST_WINDOW: Final = "w_last"
RELEASE: Final = "release"

# Of tables of single records, and of chains of them.
AT: Final = "at"
AT_FIRST: Final = "at_first"
AT_LAST: Final = "at_last"
GAP: Final = "gap"
CHAIN: Final = "chain"

# The instant of a row, and the progress before and after it.
INSTANT: Final = "instant"
IS_LATE: Final = "late"
BEFORE: Final = "before"
AFTER: Final = "after"

# Of tables of keys: the bound of each.
KEY_BOUND: Final = "bound"

# Of rows that a shard emits.
WINDOW_ID: Final = "window_id"
REVISION: Final = "revision"
OFFSETS: Final = "offsets"
KEY: Final = "key"
VALUES: Final = "values"
RETRACTS: Final = "retracts"
TOMBSTONE: Final = "tombstone"
ABSORBED_BY: Final = "absorbed_by"
OVERFLOW: Final = "overflow"

_FIELD = "="
_ESCAPED = (_FIELD, "\\")


def field_column(field: str) -> str:
    """Return the column of a user's field.

    Args:
        field: its name; any text.
    """
    return _FIELD + field


def field_of(column: str) -> str | None:
    """Return the user's field of a column; None: it is none of theirs."""
    return column[len(_FIELD) :] if column.startswith(_FIELD) else None


def state_column(field: str, part: str) -> str:
    """Return the column of one part of a field's partial states.

    Args:
        field: its name, or the names of several; any text.
        part: without a `#`, such as `n` or `b017`.
    """
    escape = "\\" if field.startswith(_ESCAPED) else ""
    return f"{escape}{field}#{part}"
