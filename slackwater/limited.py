"""Calls that may never end: made in a separate process, which is killed at a time limit."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from chaos.deaf import deaf_children

Found = TypeVar("Found")


class LimitReached(RuntimeError):
    """A call that exceeded its time limit, or that ended its own process."""

    exit_code = 1


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
            raise LimitReached(msg)
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
