"""Calls of users' code, which may never end: in a separate process, with a time limit."""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import typer

from chaos.processes import deaf_children
from infra.layout import IMPORT_VARIABLE

if TYPE_CHECKING:
    from windowing.model import Pipeline

WITHIN_S: Final = 60.0
"""Time limit for importing them, in seconds, unless the project has another."""
Found = TypeVar("Found")


def check_classes(spec: Pipeline, file: Path) -> None:
    """Import every class and plug-in that the pipeline names, in a separate process.

    Raises:
        PipelineError: with every class that cannot be used.
        BadParameter: the import hangs, or ends the process.
    """
    from windowing.model.file.user_code import check_user_code, plugin_settings, user_classes

    if not any(user_classes(spec)) and not any(plugin_settings(spec)):
        return
    seconds = _within_s()
    try:
        limited(seconds, f"{file}: importing its classes", check_user_code, spec, str(file))
    except TimeLimitReached as error:
        more = f"if not, allow more, as import_seconds: {5 * seconds:.0f} in slackwater.yml"
        msg = f"{error} {more}, or {IMPORT_VARIABLE} in the environment"
        raise typer.BadParameter(msg) from None
    except LimitReached as error:
        raise typer.BadParameter(str(error)) from None


def _within_s() -> float:
    """Return the time limit.

    Raises:
        BadParameter: the environment names none.
    """
    named = os.environ.get(IMPORT_VARIABLE)
    if named is None:
        return WITHIN_S
    if not named.isdecimal() or int(named) < 1:
        msg = f"{IMPORT_VARIABLE} is {named!r}, and must be a number of seconds, as 300"
        raise typer.BadParameter(msg)
    return float(named)


class LimitReached(RuntimeError):
    """A call that exceeded its time limit, or that ended its own process."""

    exit_code = 1


class TimeLimitReached(LimitReached):
    """A call that took too long."""


def limited(seconds: float, what: str, call: Callable[..., Found], *arguments: Any) -> Found:
    """Call one of our functions that calls user code.

    Args:
        seconds: time limit, including the start of the process.
        what: the subject of the error's sentence.
        call: a function that a new process can import.
        arguments: the function's arguments; they must be picklable.

    Raises:
        LimitReached: it took longer, or the process died.
        Exception: any exception of the function.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(theirs, call, arguments), daemon=True)
    with deaf_children():
        process.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            msg = f"{what} has not ended after {seconds:g} s: does it loop forever?"
            raise TimeLimitReached(msg)
        found, error = ours.recv()
    except EOFError:
        process.join()
        msg = f"{what} ended its process with exit code {process.exitcode}"
        raise LimitReached(msg) from None
    finally:
        process.kill()
        process.join()
        ours.close()
    if error is not None:
        raise error
    answer: Found = found
    return answer


def _answer(to: Connection, call: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    answer: tuple[object, Exception | None]
    try:
        answer = (call(*arguments), None)
    except Exception as error:
        answer = (None, error)
    except BaseException as error:  # user code can raise these, and `except Exception` misses them
        answer = (None, _reported(error))
    try:
        to.send(answer)
    except Exception:
        # The exception cannot be pickled or rebuilt; its text can.
        to.send((None, _reported(answer[1])))


def _reported(error: object) -> LimitReached:
    return LimitReached(f"{type(error).__name__}: {error}")
