"""Calls of `slackwater` on behalf of whoever looks at a page: few at once, and none for nobody.

Each is a process that may read a whole log. So a server process has few of them at a time, each for
a limited time, and only as long as its page is waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from fastapi import HTTPException, Request

from dags.operators.command import CommandEnded, CommandOutput, run_quietly

AT_ONCE: Final = 2
"""How many calls run at once."""

WAITING_MAX: Final = 8
"""How many wait for their turn."""

TIME_S: Final = 120.0
"""How long a call may take."""

BYTES_MAX: Final = 8 << 20
"""How much it may print: more is no page."""

_AGAIN_S: Final = 10


class Calls:
    """The calls of this process, for one event loop at a time."""

    def __init__(self) -> None:
        self._turns: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None
        self._waiting = 0

    async def run(self, arguments: Sequence[str], request: Request) -> CommandOutput:
        """Run a command for a request.

        It is ended when the request's client has gone, and with it the request.

        Raises:
            CommandError: it failed.
            HTTPException: 503, too many others wait; 504, it took too long or printed too much.
        """
        call = asyncio.ensure_future(self._in_turn(arguments))
        gone = asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait((call, gone), return_when=asyncio.FIRST_COMPLETED)
            if not call.done():
                raise HTTPException(499, "the client has gone")
            return call.result()
        finally:
            call.cancel()
            gone.cancel()
            await asyncio.gather(call, gone, return_exceptions=True)

    async def _in_turn(self, arguments: Sequence[str]) -> CommandOutput:
        async with self._turn():
            try:
                return await run_quietly(arguments, time_s=TIME_S, bytes_max=BYTES_MAX)
            except CommandEnded as error:
                raise HTTPException(504, str(error)) from None

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        if self._turns is None or self._turns[0] is not loop:
            self._turns, self._waiting = (loop, asyncio.Semaphore(AT_ONCE)), 0
        turns = self._turns[1]
        if turns.locked() and self._waiting >= WAITING_MAX:
            msg = (
                f"{AT_ONCE} questions are being answered and {WAITING_MAX} wait, which is the most "
                f"that this server takes: load the page again in {_AGAIN_S} s"
            )
            raise HTTPException(503, msg, {"Retry-After": str(_AGAIN_S)})
        self._waiting += 1
        try:
            await turns.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            turns.release()


async def _gone(request: Request) -> None:
    message: dict[str, Any] = {}
    while message.get("type") != "http.disconnect":
        message = dict(await request.receive())
