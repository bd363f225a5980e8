"""Inputs that were once answered wrongly: each is tried again in every run.

An input that fails is kept here by the test that found it; as Hypothesis makes it smaller, the file
becomes smaller. Commit it together with the cure.
"""

from __future__ import annotations

import hashlib
import resource
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bounds import within

FOLDER = Path(__file__).with_name("corpus")
SECONDS = 2.0
MEGABYTES = 300.0


def entries(kind: str) -> list[Path]:
    """The inputs of a kind."""
    return sorted((FOLDER / kind).glob("*.bin"))


def every(kind: str) -> pytest.MarkDecorator:
    """Runs a test over every input of a kind."""
    return pytest.mark.parametrize("entry", entries(kind), ids=lambda path: path.stem)


@contextmanager
def kept(kind: str, contents: bytes) -> Iterator[None]:
    """Keep the input, under a name made of where it fails, if what is done with it fails."""
    try:
        with bounded():
            yield
    except BaseException as error:
        if not isinstance(error, KeyboardInterrupt):
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{type(error).__name__}:{Path(last.filename).name}:{last.name}"
            digest = hashlib.sha256(where.encode()).hexdigest()[:8]
            (FOLDER / kind).mkdir(exist_ok=True)
            (FOLDER / kind / f"{type(error).__name__}-{digest}.bin").write_bytes(contents)
        raise


@contextmanager
def bounded() -> Iterator[None]:
    """Fails if what is done takes too much time of the processor, or too much memory."""
    before = _megabytes()
    with within(SECONDS):
        yield
    more = _megabytes() - before
    assert more < MEGABYTES, f"took {more:.0f} MB"


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def try_one(kind: str, attempt: Callable[[bytes], None], contents: bytes) -> None:
    """Try an input, and keep it if it fails."""
    with kept(kind, contents):
        attempt(contents)
