"""Calls the `slackwater` command, from a task or from a trigger.

The command is in the main environment; Airflow's has no Spark. Its standard output ends with one
line of JSON if it has a result; everything else is log.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import re
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dags.operators import kafka_connection
from infra.layout import COMMAND_VARIABLE, PIPELINES_VARIABLE, PROJECT_VARIABLE

ROOT_VARIABLE = "SLACKWATER_ROOT"
"""Names the checkout; without it, the folder above `dags/`."""

USAGE_ERROR = 2
"""The exit code for wrong use of a command."""

STOP_SECONDS = 10
"""How long a command may take to end after SIGTERM, before SIGKILL."""

ANSWER_S = 300.0
"""How long a question may take that is asked again and again."""

OUTPUT_MAX = 64 << 20
"""How much a short command may print, in bytes."""

_PIECE = 1 << 16

_ERROR = "error: "
"""The prefix of a command's errors."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class CommandError(Exception):
    """A command failed; the text is its own error, else its last line.

    Attributes:
        exit_code: as the contract says: 1 failed, 2 usage, 3 unknown; negative: the signal.
        output: everything it printed, if it was started.
    """

    def __init__(self, message: str, exit_code: int, output: CommandOutput | None = None) -> None:
        self.exit_code = exit_code
        self.output = output or CommandOutput((), ())
        super().__init__(message)


class CommandEnded(CommandError):
    """A command was ended because it went beyond a limit."""


@dataclass(frozen=True)
class CommandOutput:
    """The output of a command.

    Attributes:
        stdout, stderr: its lines, without colours and empty lines.
    """

    stdout: tuple[str, ...]
    stderr: tuple[str, ...]

    def result(self) -> dict[str, Any] | None:
        """The last line of standard output that is a JSON object; None if there is none."""
        for line in reversed(self.stdout):
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                return value
        return None


def project_root() -> Path:
    """Return the project that DAGs work on: the user's own, or the checkout."""
    named = os.environ.get(PROJECT_VARIABLE)
    return Path(named).resolve() if named else _checkout()


def _checkout() -> Path:
    named = os.environ.get(ROOT_VARIABLE)
    return Path(named).resolve() if named else Path(__file__).resolve().parents[2]


def pipelines_folder() -> Path:
    """Return the folder of the pipeline files."""
    named = os.environ.get(PIPELINES_VARIABLE)
    return Path(named).resolve() if named else project_root() / "pipelines"


def command_line(arguments: Sequence[str]) -> list[str]:
    """Return the whole command line for these arguments of `slackwater`.

    SLACKWATER_COMMAND names the command, else it is the checkout's.
    """
    default = str(_checkout() / ".venv" / "bin" / "slackwater")
    named = os.environ.get(COMMAND_VARIABLE)
    return [*(shlex.split(named) if named else [default]), *arguments]


def environment() -> dict[str, str]:
    """Return a command's environment: ours without Airflow's settings, secrets, and colours."""
    kept = {name: value for name, value in os.environ.items() if "AIRFLOW" not in name}
    return {**kept, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "1000", "PYTHONUNBUFFERED": "1"}


class Command:
    """A call of `slackwater`, with its output streamed while it runs.

    The child has no standard input: Airflow's would keep the end of the task from being noticed.

    Args:
        log: gets each line of its output.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        log: Callable[[str], None],
        more: Mapping[str, str] | None = None,
    ) -> None:
        self._arguments = list(arguments)
        self._log = log
        self._more = dict(more or {})
        self._process: subprocess.Popen[str] | None = None

    def run(self) -> CommandOutput:
        """Run it to completion.

        Raises:
            CommandError: it is not installed, or ended with another exit code than 0.
        """
        line = command_line(self._arguments)
        self._log(f"$ {_in_one_line(shlex.join(line))}")
        try:
            self._process = process = subprocess.Popen(
                line,
                cwd=project_root(),
                env=environment() | kafka_connection.login() | self._more,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise _not_started(line, error) from None
        except kafka_connection.ConnectionUnusable as error:
            raise CommandError(str(error), USAGE_ERROR) from None
        stdout: list[str] = []
        stderr: list[str] = []
        # Read both pipes at once; otherwise the other one could fill up and block the command.
        reader = threading.Thread(target=self._read, args=(process.stderr, stderr))
        reader.start()
        self._read(process.stdout, stdout)
        reader.join()
        output = CommandOutput(tuple(stdout), tuple(stderr))
        _check(self._arguments, process.wait(), output)
        return output

    def stop(self) -> None:
        """Stop it and its children, if still running: SIGTERM, then SIGKILL."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)

    def _read(self, pipe: IO[str] | None, lines: list[str]) -> None:
        for raw in pipe or ():
            if line := _clean(raw):
                lines.append(line)
                self._log(line)


async def run_quietly(
    arguments: Sequence[str], *, time_s: float | None = None, bytes_max: int = OUTPUT_MAX
) -> CommandOutput:
    """Run a short command without blocking the event loop; nothing is logged.

    If it goes beyond a limit, or this is cancelled, it is ended with all of its children.

    Args:
        time_s: how long it may take, in seconds; None: as long as it likes.
        bytes_max: how much it may print to each of its outputs.

    Raises:
        CommandError: as `Command.run`; it took too long, or printed too much.
    """
    line = command_line(arguments)
    try:
        process = await asyncio.create_subprocess_exec(
            *line,
            cwd=project_root(),
            env=environment() | await kafka_connection.login_later(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise _not_started(line, error) from None
    except kafka_connection.ConnectionUnusable as error:
        raise CommandError(str(error), USAGE_ERROR) from None
    parts = [
        asyncio.ensure_future(part)
        for part in (_content(process.stdout, bytes_max), _content(process.stderr, bytes_max))
    ]
    try:
        async with asyncio.timeout(time_s):
            stdout, stderr = await asyncio.gather(*parts)
            exit_code = await process.wait()
    except BaseException as error:
        await _end(process, parts)
        if isinstance(error, TimeoutError):
            msg = f"slackwater {arguments[0]} was ended: it took longer than {time_s:g} s"
        elif isinstance(error, _TooMuch):
            msg = f"slackwater {arguments[0]} was ended: it printed more than {bytes_max:,} bytes"
        else:  # cancelled: nobody waits for it any more
            raise
        raise CommandEnded(f"{msg}; call it in a terminal", 1) from None
    output = CommandOutput(_lines(stdout), _lines(stderr))
    _check(arguments, exit_code, output)
    return output


class _TooMuch(Exception):
    """A command has printed more than it may."""


async def _content(pipe: asyncio.StreamReader | None, bytes_max: int) -> bytes:
    found = bytearray()
    while pipe is not None and (piece := await pipe.read(_PIECE)):
        found += piece
        if len(found) > bytes_max:
            raise _TooMuch
    return bytes(found)


async def _end(process: asyncio.subprocess.Process, parts: Sequence[asyncio.Future[bytes]]) -> None:
    """End a command and its children: SIGTERM, then, also if this is cancelled, SIGKILL."""
    _signal(process, signal.SIGTERM)
    for part in parts:
        part.cancel()
    try:
        await asyncio.wait(parts)
        await _until_gone(process)
    finally:
        _signal(process, signal.SIGKILL)
    await _until_gone(process)


async def _until_gone(process: asyncio.subprocess.Process) -> None:
    """Wait for the end of a command, not too long, and discard what it still prints.

    A pipe that is full and not read would hide its end.
    """

    async def discard(pipe: asyncio.StreamReader | None) -> None:
        while pipe is not None and await pipe.read(_PIECE):
            pass

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STOP_SECONDS):
            await asyncio.gather(discard(process.stdout), discard(process.stderr), process.wait())


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _check(arguments: Sequence[str], exit_code: int, output: CommandOutput) -> None:
    if exit_code == 0:
        return
    said = _complaint(output.stderr or output.stdout)
    if exit_code < 0:
        said = f"slackwater {arguments[0]} was ended by {signal.Signals(-exit_code).name}"
    raise CommandError(
        said or f"slackwater {arguments[0]} ended with exit code {exit_code}", exit_code, output
    )


def _complaint(lines: Sequence[str]) -> str:
    """Return the error: all lines from the one that begins with `error:`, else the last one."""
    begins = [number for number, line in enumerate(lines) if line.startswith(_ERROR)]
    return "\n".join(lines[begins[-1] if begins else -1 :]).removeprefix(_ERROR)


def _not_started(line: list[str], error: OSError | ValueError) -> CommandError:
    if isinstance(error, ValueError) or error.errno == errno.E2BIG:
        why = getattr(error, "strerror", None) or error
        msg = f"{line[0]} cannot be called with these values ({why}): shorten or correct them"
        return CommandError(msg, USAGE_ERROR)
    hint = "run `make setup`, or set SLACKWATER_ROOT to the checkout"
    return CommandError(f"{line[0]} cannot be started ({error.strerror}): {hint}", 127)


def _lines(raw: bytes) -> tuple[str, ...]:
    cleaned = (_clean(line) for line in raw.decode(errors="replace").splitlines())
    return tuple(line for line in cleaned if line)


def _in_one_line(text: str) -> str:
    """Write what came from users so that it cannot pass for further lines of a log."""
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


def _clean(line: str) -> str:
    return _ESCAPES.sub("", line).rstrip()
