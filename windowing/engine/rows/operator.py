"""What every operator of the row path is: fed row by row, and asked for nothing but its state.

Windows and joins of a stream (`flows`), SPL's operators over windows by policies (`operators`) and
a user's own are `RowOperator`s. What one sends goes to the `send` that it was made with, in order.
"""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

Row_contra = TypeVar("Row_contra", contravariant=True)
Mark_contra = TypeVar("Mark_contra", contravariant=True)
Snapshot = TypeVar("Snapshot")


@runtime_checkable
class RowOperator(Protocol[Row_contra, Mark_contra, Snapshot]):
    """An operator that is fed by calls, and reads no clock of its own."""

    def insert(self, row: Row_contra, port: int = 0, /) -> bool:
        """Take a row on an input port; False: nothing takes it."""

    def punctuate(self, mark: Mark_contra, port: int = 0, /) -> None:
        """Take what a stream says of itself, as how far it has got, and send what is due then."""

    def tick(self, now_us: int, /) -> None:
        """Send what is due by the clock, which is the caller's."""

    def purge(self) -> None:
        """Forget what no later row can need."""

    def snapshot(self) -> Snapshot:
        """All that the operator remembers, as plain values."""

    def restore(self, snapshot: Snapshot, /) -> None:
        """Go back to a snapshot of an operator of the same configuration."""
