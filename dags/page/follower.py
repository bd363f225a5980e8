"""Asks `slackwater overview --follow`, a process that stays: most of a call is its start.

It is started with the API server, before anybody asks, and ends with it, since its input ends then.
One that has died is started again by the next question. If it cannot be had, each question is a
call of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dags.operators import kafka_connection
from dags.operators.command import (
    USAGE_ERROR,
    CommandError,
    command_line,
    environment,
    project_root,
    run_quietly,
)

ANSWER_S: Final = 120.0
"""How long an answer may take, on a busy machine."""

END_S: Final = 5.0
"""How long it may take to end, before it is killed: it holds nothing that could be lost."""

AGAIN_S: Final = 60.0
"""How long after a failure it is not tried again."""

_LINE_MAX: Final = 256 << 20
"""How long an answer may be, in bytes: 50 pipelines with 64 lanes have 10 MB."""


class NoAnswer(Exception):
    """The process cannot be started, or has ended."""


@dataclass(frozen=True)
class _Start:
    """How the process is started; with another environment it is another one."""

    line: Sequence[str]
    environment: Mapping[str, str]
    folder: str


class Follower:
    """The process, for one event loop at a time."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._started: tuple[asyncio.AbstractEventLoop, _Start] | None = None
        self._turn = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failed: tuple[_Start, float] | None = None

    async def start(self) -> None:
        """Start the process: the first page does not wait for it then.

        What prevents it is reported to whoever asks.
        """
        with contextlib.suppress(CommandError):
            start = await _start_now()
            async with self._turn_of(asyncio.get_running_loop()):
                with contextlib.suppress(NoAnswer):
                    await self._living(start)

    async def stop(self) -> None:
        """End the process, and wait for its end."""
        process = self._process
        self._end()
        if process is None or process.returncode is not None:
            return
        try:
            await asyncio.wait_for(process.wait(), END_S)
        except TimeoutError:
            process.kill()
            await process.wait()

    def _end(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        self._process = self._started = None

    async def ask(self, files: Sequence[str]) -> list[dict[str, Any]]:
        """Return how pipelines stand.

        Args:
            files: their files; none: all of the project.

        Raises:
            CommandError: the command failed, is not installed, or gives no answer in time.
            ValueError: it printed no JSON.
        """
        start = await _start_now()
        if self._is_worth_a_try(start):
            try:
                return await self._asked(start, files)
            except NoAnswer:
                self._failed = (start, time.monotonic())
        # In turn, too: there may be as many questions as there are pipelines.
        async with self._turn_of(asyncio.get_running_loop()):
            output = await run_quietly(["overview", *files, "--json"], time_s=ANSWER_S)
        overviews = json.loads(output.stdout[-1] if output.stdout else "")
        return overviews if isinstance(overviews, list) else [overviews]

    def _is_worth_a_try(self, start: _Start) -> bool:
        if self._failed is None:
            return True
        failed, at_s = self._failed
        return failed != start or time.monotonic() - at_s > AGAIN_S

    async def _asked(self, start: _Start, files: Sequence[str]) -> list[dict[str, Any]]:
        """Ask the process, which answers one question at a time."""
        async with self._turn_of(asyncio.get_running_loop()):
            process = await self._living(start)
            try:
                answer = await asyncio.wait_for(_answer(process, files), ANSWER_S)
            except TimeoutError:
                self._end()
                msg = f"slackwater overview has not answered in {ANSWER_S:g} s"
                raise CommandError(msg, 1) from None
            except BaseException:
                self._end()  # the next question must not get this answer
                raise
        if "error" in answer:
            raise CommandError(answer["error"], 1)
        overviews: list[dict[str, Any]] = answer["overviews"]
        return overviews

    def _turn_of(self, loop: asyncio.AbstractEventLoop) -> asyncio.Lock:
        """Return what lets one question at a time through, on this loop."""
        if self._loop is not loop:
            # The other loop has ended, and the input of its process with it.
            self._process = self._started = None
            self._turn, self._loop = asyncio.Lock(), loop
        return self._turn

    async def _living(self, start: _Start) -> asyncio.subprocess.Process:
        """Return the process that was started so, after starting it if need be.

        Raises:
            NoAnswer: it cannot be started.
        """
        loop, process = asyncio.get_running_loop(), self._process
        if process is None or process.returncode is not None or self._started != (loop, start):
            self._end()
            self._process = process = await _started(start)
            self._started = (loop, start)
        return process


async def _start_now() -> _Start:
    """Return how the process would be started now.

    Raises:
        CommandError: Airflow's connection to Kafka cannot be used.
    """
    try:
        login = await kafka_connection.login_later()
    except kafka_connection.ConnectionUnusable as error:
        raise CommandError(str(error), USAGE_ERROR) from None
    line = command_line(["overview", "--follow"])
    return _Start(line, environment() | login, str(project_root()))


async def _started(start: _Start) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *start.line,
            cwd=start.folder,
            env=dict(start.environment),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_LINE_MAX,
        )
    except OSError as error:
        raise NoAnswer from error


async def _answer(process: asyncio.subprocess.Process, files: Sequence[str]) -> dict[str, Any]:
    """Ask a process that lives, and read its answer.

    Raises:
        NoAnswer: it has ended, or does not know how to follow.
    """
    assert process.stdin is not None  # noqa: S101 - as started
    assert process.stdout is not None  # noqa: S101
    try:
        process.stdin.write(json.dumps(list(files)).encode() + b"\n")
        await process.stdin.drain()
        answer = json.loads(await process.stdout.readline())
    except (OSError, ValueError) as error:
        raise NoAnswer from error
    if not isinstance(answer, dict):
        raise NoAnswer
    return answer
