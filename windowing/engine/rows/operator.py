"""The protocol of all operators of the row path.

Windows and joins of a stream (`flows`), SPL's operators over policy windows (`operators`) and
users' own are `RowOperator`s. Output goes in order to the `send` passed at construction.
"""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

Row_contra = TypeVar("Row_contra", contravariant=True)
Mark_contra = TypeVar("Mark_contra", contravariant=True)
Snapshot = TypeVar("Snapshot")


@runtime_checkable
class RowOperator(Protocol[Row_contra, Mark_contra, Snapshot]):
    """An operator driven by calls, which reads no clock."""

    def insert(self, row: Row_contra, port: int = 0, /) -> bool:
        """Process a row on an input port; False: it is refused."""

    def punctuate(self, mark: Mark_contra, port: int = 0, /) -> None:
        """Process a stream's punctuation, such as its progress, and send what is due."""

    def tick(self, now_us: int, /) -> None:
        """Send what is due by the caller's clock."""

    def purge(self) -> None:
        """Delete state that no later row can need."""

    def snapshot(self) -> Snapshot:
        """Return the operator's state, as plain values."""

    def restore(self, snapshot: Snapshot, /) -> None:
        """Restore a snapshot of an operator of the same configuration."""
