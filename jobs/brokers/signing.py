"""Control records as a pipeline believes them: signed, where it asks for signatures."""

from __future__ import annotations

import time
from collections.abc import Callable

from windowing.model.control import ControlRule, sealed, signature


def clock_us() -> int:
    """Return this machine's time in microseconds since 1970."""
    return time.time_ns() // 1_000


class Signer:
    """Signs the control records of one source.

    The counter is the machine's clock, so that it also rises from one program to the next; two that
    sign for the same lane need clocks that agree.

    Args:
        rule: which control records the source believes.
        clock: the clock, in microseconds.
    """

    def __init__(self, rule: ControlRule, clock: Callable[[], int] = clock_us) -> None:
        self._secret, self._clock = rule.secret, clock
        self._last: dict[str, int] = {}

    def signed(self, lane: str, control: str | bytes) -> bytes:
        """Return a control record for a lane, with its signature if it needs one.

        Args:
            lane: the lane's name.
            control: its JSON.
        """
        body = control.encode() if isinstance(control, str) else control
        if self._secret is None:
            return body
        counter = max(self._clock(), self._last.get(lane, -1) + 1)
        self._last[lane] = counter
        return sealed(body, signature(self._secret, lane, counter, body), b"%d" % counter)
