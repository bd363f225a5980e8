"""The digest of the engine's files that a part of the night judges."""

from __future__ import annotations

import hashlib
import io
import tokenize
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

ENGINE = ("windowing",)
"""What every run computes with: model, engine, definition, runtime and Spark's half."""

JOB = ("windowing", "jobs")
"""The engine, and the job that runs it on a cluster."""

MODELS = ("windowing/research/engines", "jobs/live_engines")
"""The models of other engines, and what runs these live."""

_APART = ("windowing/research/engines", "windowing/explain", "jobs/live_engines")
_BEFORE_A_STATEMENT = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
_DIGITS = 12


def digest(rooms: Sequence[str]) -> str:
    """Return a digest of the files of some folders, by names and contents.

    Comments and docstrings do not count: they change no result, and hours of evidence should not
    be lost to a better word. It is the same on every machine and version of Python, and does not
    depend on commits. Models of other engines and explanations count only where they are named.

    Args:
        rooms: folders, relative to the working directory.

    Raises:
        FileNotFoundError: there is no such folder.
    """
    found = hashlib.sha256()
    for file in sorted(_files(rooms)):
        content = file.read_bytes()
        if file.suffix == ".py":
            content = code(content).encode()
        for part in (file.as_posix().encode(), content):
            found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()[:_DIGITS]


@cache
def code(source: bytes) -> str:
    """Return Python source without comments, docstrings and empty lines."""
    lines = io.TextIOWrapper(io.BytesIO(source), "utf-8").readlines()
    tokens = list(tokenize.tokenize(io.BytesIO(source).readline))
    words = [token for token in tokens if token.type not in {tokenize.NL, tokenize.COMMENT}]
    spans = [token for token in tokens if token.type == tokenize.COMMENT]
    spans += [
        token
        for before, token, after in zip(words, words[1:], words[2:], strict=False)
        if token.type == tokenize.STRING
        and before.type in _BEFORE_A_STATEMENT
        and after.type == tokenize.NEWLINE
    ]
    for span in sorted(spans, key=lambda token: token.start, reverse=True):
        (first, start), (last, end) = span.start, span.end
        lines[first - 1 : last] = [lines[first - 1][:start] + lines[last - 1][end:]]
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _files(rooms: Sequence[str]) -> Iterator[Path]:
    apart = [Path(room) for room in _APART if room not in rooms]
    for room in rooms:
        if not Path(room).is_dir():  # it has moved: nothing would ever be outdated
            raise FileNotFoundError(room)
        for file in Path(room).rglob("*"):
            inside = set(file.parents)
            if file.is_file() and "__pycache__" not in file.parts and inside.isdisjoint(apart):
                yield file
