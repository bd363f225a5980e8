"""The identity of a row that was found, which may be broken in any way."""

from __future__ import annotations

from typing import Any

from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.semantics import RowId


def row_id(fields: dict[str, Any]) -> RowId | None:
    """Return a row's identity; None: window and key are not of the contract's types."""
    wid, key = fields["window_id"], fields["key"]
    fits = _is_int64(wid) and isinstance(key, list)
    if not fits or not all(part is None or _is_scalar(part) for part in key):
        return None
    return RowId(fields["query"], wid, tuple(key), fields["revision"])


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | float) or _is_int64(value)


def _is_int64(value: object) -> bool:
    return type(value) is int and INT64_MIN <= value <= INT64_MAX
