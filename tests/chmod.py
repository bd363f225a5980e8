"""A `chmod` that says when it is called, in place of the machine's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def recording(folder: Path) -> Iterator[Callable[[], list[str]]]:
    """Put it first on the PATH of programs started meanwhile; yield what asks for its calls."""
    folder.mkdir()
    log, program = folder / "calls", folder / "chmod"
    log.touch()
    program.write_text(f'#!/bin/sh\necho "$@" >> "{log}"\nexec {shutil.which("chmod")} "$@"\n')
    program.chmod(0o755)
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{folder}{os.pathsep}{before}"
    try:
        yield lambda: log.read_text().splitlines()
    finally:
        os.environ["PATH"] = before
