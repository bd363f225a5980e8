"""Records from a user's generator function: `python: module:function`."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path


class GeneratorError(RuntimeError):
    """A generator function that is missing, fails, or yields something other than records."""

    exit_code = 2


def write_generated(reference: str, folder: Path, seed: int, records: int, file: Path) -> None:
    """Write what a generator function yields, one line each.

    Args:
        reference: `module:function`, which takes a seed and yields dicts: lines of EVENTS.jsonl,
            or values alone.
        folder: where to look for the module if Python does not find it as always; then in the
            working directory.
        seed: argument of the function, which should yield the same records for the same seed.
        records: maximum number of records.
        file: the file to write.

    Raises:
        GeneratorError: the function is missing, fails, or yields something other than records.
    """
    with file.open("w", encoding="utf-8") as opened, _importable(folder):
        opened.writelines(_lines(reference, folder, seed, records))
        is_empty = not opened.tell()
    if is_empty:
        msg = f"python: {reference} yields nothing with seed {seed}: it must yield records"
        raise GeneratorError(msg)


def _lines(reference: str, folder: Path, seed: int, records: int) -> Iterator[str]:
    module, _, name = reference.partition(":")
    try:
        function = getattr(importlib.import_module(module), name)
        for made in islice(function(seed), records):
            yield f"{_spelled(made, reference)}\n"
    except GeneratorError:
        raise
    except (Exception, SystemExit) as error:
        msg = (
            f"python: {reference}(seed={seed}) failed: {type(error).__name__}: {error}; the "
            f"module is looked for in Python's own folders, then in {folder}, then where you stand"
        )
        raise GeneratorError(msg) from error


def _spelled(made: object, reference: str) -> str:
    if not isinstance(made, dict):
        msg = (
            f"python: {reference} yields {made!r:.80}, and a record is a dict: a value, or "
            "{'source': …, 'partition': …, 'offset': …, 'value': …}"
        )
        raise GeneratorError(msg)
    return json.dumps(made, ensure_ascii=False, separators=(",", ":"))


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Make modules of a folder and of the working directory importable in a block.

    After all others: a file that lies there must not stand in for a module of Python's own, which
    anybody's code may import meanwhile.
    """
    before = list(sys.path)
    sys.path += [str(folder.resolve()), str(Path.cwd())]
    try:
        yield
    finally:
        sys.path[:] = before
