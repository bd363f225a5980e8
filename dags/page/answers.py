"""Answers of `slackwater overview`, kept for the page.

A call takes seconds and a page must not. So the last answer of each pipeline is kept in a file,
which all processes of the API server share; a page shows it at once, with its age, and an answer
that is no longer fresh is replaced in the background, by one call at a time.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dags.operators.command import CommandError
from infra.layout import default_layout

ALL: Final = ""
"""Stands for all pipelines; no pipeline has an empty name."""

FRESH_S: Final = 10.0
"""An answer that is younger is not replaced."""

_PATIENCE_S: Final = 5.0
"""How long a page waits for the first answer, before it is shown without: it usually takes a
second or two, and a page without it is of no use."""

NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,249}")
"""What a pipeline's name looks like; anything else never reaches a path or a command."""

Ask = Callable[[Sequence[str]], Awaitable[list[dict[str, Any]]]]


@dataclass(frozen=True)
class Answer:
    """What is known of a pipeline, or of all.

    Attributes:
        overviews: the command's answer: an object for each pipeline; None: there is none yet.
        age_s: seconds since it was given.
        error: why there is no newer one.
        asking: whether a newer one is being looked for.
    """

    overviews: list[dict[str, Any]] | None
    age_s: float
    error: str | None
    asking: bool


class Answers:
    """The answers by pipeline.

    Args:
        ask: asks how pipelines stand, given their files; none: all.
    """

    def __init__(self, ask: Ask) -> None:
        self._look = ask
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._errors: dict[str, str] = {}

    async def of(self, name: str, files: Sequence[str] = ()) -> Answer:
        """Return the answer for a pipeline, and see to it that the next one is newer.

        Args:
            name: the pipeline, or `ALL`.
            files: the pipeline's file.
        """
        kept = await asyncio.to_thread(_kept, name)
        if kept is None or kept[1] >= FRESH_S:
            task = self._ask(name, files)
            if kept is None:
                await asyncio.wait([task], timeout=_PATIENCE_S)
                kept = await asyncio.to_thread(_kept, name)
        overviews, age_s = kept or (None, 0.0)
        return Answer(overviews, age_s, self._errors.get(name), name in self._asking)

    def _ask(self, name: str, files: Sequence[str]) -> asyncio.Task[None]:
        if name not in self._asking:
            self._asking[name] = asyncio.create_task(self._replace(name, files))
        return self._asking[name]

    async def _replace(self, name: str, files: Sequence[str]) -> None:
        try:
            overviews = await self._look(files)
            await asyncio.to_thread(_keep, name, overviews)
            self._errors.pop(name, None)
        except (CommandError, OSError, ValueError) as error:
            self._errors[name] = str(error)
        finally:
            del self._asking[name]


def _kept(name: str) -> tuple[list[dict[str, Any]], float] | None:
    """Return the last answer with its age; None: there is none that can be read."""
    file = _file(name)
    try:
        overviews, at_s = json.loads(file.read_bytes()), file.stat().st_mtime
    except (OSError, ValueError):
        return None
    return overviews, max(time.time() - at_s, 0.0)


def _keep(name: str, overviews: list[dict[str, Any]]) -> None:
    """Keep an answer; one for all is one for each, too."""
    for one in overviews if name == ALL else ():
        if NAME.fullmatch(str(one["pipeline"])):
            _write(_file(str(one["pipeline"])), [one])
    _write(_file(name), overviews)


def _file(name: str) -> Path:
    folder = default_layout().state_dir / "page"
    # Not the name of any pipeline.
    return folder / ("all,.json" if name == ALL else f"{name}.json")


def _write(file: Path, overviews: list[dict[str, Any]]) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".json")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump(overviews, out, ensure_ascii=False)
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
