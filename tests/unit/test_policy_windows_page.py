"""docs/policy-windows.md: its code runs as written, and prints what the page shows."""

from __future__ import annotations

import ast
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

PAGE = Path("docs/policy-windows.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```\n(?:```\n(.*?)^```$)?", PAGE, re.MULTILINE | re.DOTALL)


def test_the_code_prints_what_the_page_shows() -> None:
    assert len(BLOCKS) == PAGE.count("```python") > 0
    program: dict[str, object] = {}
    for code, shown in BLOCKS:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(code, "docs/policy-windows.md", "exec"), program)  # noqa: S102 - our page
        assert printed.getvalue() == shown


def test_the_operator_of_ones_own_has_at_most_20_lines() -> None:
    (operator,) = (
        node
        for code, _ in BLOCKS
        for node in ast.parse(code).body
        if isinstance(node, ast.ClassDef)
    )
    assert operator.end_lineno is not None
    assert operator.end_lineno - operator.lineno < 20
