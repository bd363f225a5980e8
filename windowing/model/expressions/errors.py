"""A mistake in an expression, with the place that it concerns."""

from __future__ import annotations

from collections.abc import Iterable

from windowing.model.errors import cut, printable

_SHOWN = 72
"""The most characters of an expression that a message repeats."""
_LIST = 300
"""The most characters of a list of names: the excerpt behind it must not be cut off."""


class ExpressionError(ValueError):
    """An expression that cannot be used: what is wrong, the rule, and where it is.

    The message ends with an excerpt of the expression and a caret below the place.

    Attributes:
        at: where it is in the text, from 0.
    """

    def __init__(self, message: str, text: str, at: int) -> None:
        super().__init__(f"{message}\n{excerpt(text, at)}")
        self.at = at


def known(names: Iterable[str], hint: str = "") -> str:
    """Return the list of what there is, for the end of a message.

    Args:
        hint: what was said before of what may be meant.
    """
    return f"{' There' if hint.endswith('?') else '; there'} are {cut(', '.join(names), _LIST)}"


def excerpt(text: str, at: int) -> str:
    """Return the line of a text with a place in it, and a caret below the place."""
    begins = text.rfind("\n", 0, at) + 1
    line, column = text[begins:].split("\n", 1)[0], at - begins
    cut = max(0, column - _SHOWN // 2) if len(line) > _SHOWN else 0
    before, after = printable(line[cut:column]), printable(line[column : cut + _SHOWN])
    start = "…" if cut else ""
    end = "…" if len(line) > cut + _SHOWN else ""
    return f"    {start}{before}{after}{end}\n    {' ' * len(start + before)}^"
