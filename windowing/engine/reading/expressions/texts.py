"""Functions of texts by columns: kernels of Arrow, which count and compare code points."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from windowing.engine.reading.expressions.vectors import TEXT, Bools, Computed, bools, ints
from windowing.engine.reading.expressions.whole import Ints

_FAR = 2**31 - 1
"""No text is so long."""


def joined(*texts: Any) -> Any:
    """`||`."""
    return pc.binary_join_element_wise(*texts, pa.scalar("", TEXT))


def lower(text: Any) -> Any:
    """Return ASCII's letters as small ones."""
    return pc.ascii_lower(text)


def upper(text: Any) -> Any:
    """Return ASCII's letters as capitals."""
    return pc.ascii_upper(text)


def trim(text: Any) -> Any:
    """Return a text without blanks at its ends."""
    return pc.ascii_trim(text, characters=" ")


def length(text: Any) -> Ints:
    """Return how many code points a text has."""
    return ints(pc.utf8_length(text))


def compare(name: str) -> Callable[[Any, Any], Bools]:
    """Return a comparison by code points: bytes of UTF-8 have the same order.

    Args:
        name: of Arrow's kernel.
    """
    kernel = getattr(pc, name)
    return lambda left, right: bools(kernel(left, right))


def like(pattern: str) -> Callable[[Any], Bools]:
    """Return a test against a pattern in which only `%` and `_` have a meaning."""
    expression = "".join({"%": ".*", "_": "."}.get(sign) or _quoted(sign) for sign in pattern)
    plain = pattern.strip("%")
    if "%" not in plain and "_" not in plain and plain:
        starts, ends = not pattern.startswith("%"), not pattern.endswith("%")
        if starts and ends:
            return lambda text: bools(pc.equal(text, pa.scalar(plain, TEXT)))
        kernel = pc.starts_with if starts else pc.ends_with if ends else pc.match_substring
        return lambda text: bools(kernel(text, plain))
    return lambda text: matches(text, expression)


def matches(text: Any, expression: str) -> Bools:
    """Return which texts a regular expression matches from end to end."""
    return bools(pc.match_substring_regex(text, rf"(?s)\A(?:{expression})\z"))


def _quoted(sign: str) -> str:
    return r"\x00" if sign == "\0" else re.escape(sign)


def starts_with(text: Any, prefix: Any) -> Bools:
    """Return whether a text begins with another."""
    if isinstance(prefix, pa.Scalar):
        return bools(pc.starts_with(text, prefix.as_py()))
    # By code points, so that the prefix ends where the text's sign does.
    return bools(pc.equal(_cut(text, np.zeros(1, np.int64), length(prefix)), prefix))


def substr(text: Any, first: Ints, count: Ints | None = None) -> Computed:
    """Return some code points of a text from one on, counted from 1; a smaller one fails."""
    wrong = first < 1
    begin = np.clip(first, 1, _FAR) - 1
    if count is None:
        return _cut(text, begin, np.full(1, _FAR)), wrong
    return _cut(text, begin, np.clip(count, 0, _FAR)), wrong | (count < 0)


def _cut(text: Any, begin: Ints, count: Ints) -> Any:
    """Return code points of each text, from a place on, counted from 0."""
    if len(begin) == len(count) == 1:
        first, size = int(begin[0]), int(count[0])
        return pc.utf8_slice_codeunits(text, first, min(first + size, _FAR))
    one = isinstance(text, pa.Scalar)
    [rows] = np.broadcast_shapes(begin.shape, count.shape, (1,) if one else (len(text),))
    text = pa.repeat(text, rows) if one else text
    table = pl.DataFrame(
        {
            "text": text,
            "begin": np.broadcast_to(begin, rows),
            "count": np.broadcast_to(count, rows),
        }
    )
    cut = pl.col("text").str.slice(pl.col("begin"), pl.col("count"))
    return table.select(cut).to_series().to_arrow()
