"""What counts as a line of code, and that the page shows what the command counts."""

from __future__ import annotations

from pathlib import Path

from benchmarks.figures import markdown
from benchmarks.lines import lines_of_code, table

SOURCE = '''
"""A docstring."""

import os
from a import (
    b,
)


def check_nothing(x):
    """No operator."""
    return x


class Sum:
    """Adds.

    More.
    """

    def __init__(
        self,
        x,  # a comment
    ):
        self.x = [  # this line counts
            x,
        ]
        text = """two
        lines"""
'''


def test_what_counts() -> None:
    """`class`, `def`, two arguments, two of the list, two of the text."""
    assert lines_of_code(SOURCE) == 8


def test_the_page_shows_what_is_counted() -> None:
    page = Path("benchmarks/policies.md").read_text(encoding="utf-8")
    assert "\n".join(markdown(table())) in page, "run `.venv/bin/python -m benchmarks.lines`"
