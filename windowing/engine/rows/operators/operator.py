"""What SPL's operators have in common: row operators with ports out, over windows by policies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from windowing.engine.rows.policies import Marker, PolicyError

Tuple = Mapping[str, Any]
"""A tuple of a stream: its attributes by name."""


class OperatorError(PolicyError):
    """A configuration that the operator's model does not have.

    Attributes:
        reason: the rule that it breaks, as a code.
    """

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


@dataclass(frozen=True)
class Punctuation:
    """A window punctuation that an operator sends: the tuples before it belong together."""


@dataclass(frozen=True)
class Sent:
    """What an operator sends.

    Attributes:
        port: the output port.
        item: a tuple, or a punctuation.
    """

    port: int
    item: Tuple | Punctuation


class Operator(ABC):
    """A `RowOperator` over windows by policies.

    Args:
        send: gets all that the operator sends, in order.
    """

    def __init__(self, send: Callable[[Sent], None]) -> None:
        self._send = send

    @abstractmethod
    def insert(self, row: Tuple, port: int = 0) -> bool:
        """Take a tuple on an input port; no tuple is refused."""

    @abstractmethod
    def punctuate(self, marker: Marker, port: int = 0) -> None:
        """Take a punctuation on an input port."""

    @abstractmethod
    def tick(self, now_us: int) -> None:
        """Do all that is due up to an instant of the clock."""

    def purge(self) -> None:  # noqa: B027 - an operator may override it, and need not
        """Forget nothing: what leaves a window is up to its policies."""

    @abstractmethod
    def snapshot(self) -> dict[str, Any]:
        """All that the operator remembers, as plain values and the tuples themselves."""

    @abstractmethod
    def restore(self, snapshot: dict[str, Any], *, timers: bool = False) -> None:
        """Go back to a snapshot; see `PolicyWindow.restore`."""

    def _emit(self, row: Tuple, port: int = 0) -> None:
        self._send(Sent(port, row))

    def _emit_punctuation(self, port: int = 0) -> None:
        self._send(Sent(port, Punctuation()))
