"""Reasons why an operator refuses a call, each with a code for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from windowing.model.run_errors import OffsetGap, WindowingError


class CallRefused(WindowingError):
    """A call that changed nothing."""

    code: ClassVar[str] = "refused"


class SelectorDisabled(CallRefused):
    """Records given while rows that the consumer refused are undelivered."""

    code = "selector_disabled"

    def __init__(self, rows: int) -> None:
        super().__init__(
            f"input is disabled: {rows} rows wait for a consumer that refused one; call timeout() "
            "until the consumer takes them, then send the records again"
        )


class DenseOffsetGap(CallRefused, OffsetGap):
    """A record beyond the next offset of its lane.

    Attributes:
        expected: the next offset.
        found: the offset of the record.
    """

    code = "offset_gap"

    def __init__(self, lane: str, expected: int, found: int) -> None:
        self.lane, self.expected, self.found = lane, expected, found
        super().__init__(
            f"lane {lane}: offset {found} came where {expected} is next; offsets of an operator "
            f"have no holes: send the records from offset {expected} on"
        )


class RecordAfterEnd(CallRefused):
    """A data record in a lane whose end was announced."""

    code = "after_end"

    def __init__(self, lane: str, offset: int) -> None:
        super().__init__(
            f"lane {lane}: offset {offset} is a record after the lane's end: no bound of "
            "infinity may be sent before the last record"
        )


class UnknownLane(CallRefused):
    """A record of an undeclared lane."""

    code = "unknown_lane"

    def __init__(self, lane: str, known: Sequence[str]) -> None:
        super().__init__(f"lane {lane!r} is not read here; known: {', '.join(known)}")


class StoreFull(CallRefused):
    """A call whose records would exceed the flow's limit."""

    code = "store_full"

    def __init__(self, entries: int, limit: int) -> None:
        super().__init__(
            f"the stores would hold {entries} entries, and entries_max is {limit}: "
            "send bounds, so that windows close and are purged, or raise the limit"
        )


class NoMessageStore(CallRefused):
    """A query for records of an aggregate that stores none."""

    code = "no_message_store"

    def __init__(self, aggregate: str) -> None:
        super().__init__(
            f"aggregate {aggregate} is computed as records come and keeps none of them: messages "
            "are there for collect, median and joins"
        )
