"""Calls that may never end: made in a process of their own, which is killed after a while."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from chaos.deaf import deaf_children

Found = TypeVar("Found")


class LimitReached(RuntimeError):
    """A call that had not ended when its time was over, or that ended its own process."""

    exit_code = 1


def limited(seconds: float, what: str, call: Callable[..., Found], *arguments: Any) -> Found:
    """Call a function of ours that calls code of a user's.

    Args:
        seconds: how long it may take, the start of its process included.
        what: the sentence's subject where it does not end.
        call: a function that a new process can import.
        arguments: of the function, such as can be sent to it.

    Raises:
        LimitReached: it took longer, or the process died.
        Exception: whatever the function raised.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(theirs, call, arguments), daemon=True)
    with deaf_children():
        process.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            msg = f"{what} has not ended after {seconds:g} s: does it loop for ever?"
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
    try:
        to.send((call(*arguments), None))
    except BaseException as error:
        to.send((None, error))
