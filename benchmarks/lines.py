"""Lines of code of operators, with and without the library, counted as Gedik 2014 counts them.

Writes the table into `benchmarks/policies.md`.

    .venv/bin/python -m benchmarks.lines
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeGuard

import typer

from benchmarks.figures import ROOT, markdown, replace_block

OPERATORS: Final = ("aggregate", "join", "sort")
DOCUMENT: Final = ROOT / "benchmarks" / "policies.md"
_ROWS = ROOT / "windowing" / "engine" / "rows"
_HANDWRITTEN = ROOT / "benchmarks" / "handwritten"
# What the paper calls numerically careful summaries, which the hand-written operator lacks.
_SUMMARIES = ("operators/summaries", "operators/totals", "operators/percentiles")
# A part of the library that serves Join and Dedup; Join by hand contains its own.
_INDEX = "policies/index"
# Library and SPADE, table of section 6.
_PAPER: Final = {"aggregate": (924, 1988), "join": (667, 1167), "sort": (284, 410)}
_NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


def lines_of_code(source: str) -> int:
    """Count lines with code: no comments, docstrings, imports, or brackets and commas alone.

    Functions called `check_…`, which refuse configurations, are left out: they are our operators'
    models, and those by hand have none.
    """
    tree = ast.parse(source)
    left_out = {line for node in _no_statements(tree) for line in _lines(node)}
    found = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE and token.string not in "()[]{},:":
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found - left_out)


def _no_statements(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in filter(_is_statement, ast.walk(tree)):
        check = isinstance(node, ast.FunctionDef) and node.name.startswith("check_")
        if check or isinstance(node, ast.Import | ast.ImportFrom) or _is_docstring(node):
            yield node


def _is_statement(node: ast.AST) -> TypeGuard[ast.stmt]:
    return isinstance(node, ast.stmt)


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def table() -> list[list[str]]:
    """Return the table: lines with and without the library, and the paper's."""
    rows = [["operator", "with the library", "by hand", "remains", "in the paper"]]
    for name in OPERATORS:
        ours, by_hand = _PAPER[name]
        rows.append(_row(name, name, (), f"{ours:,} / {by_hand:,} = {ours / by_hand:.0%}"))
    rows.insert(2, _row("aggregate, with its summaries", "aggregate", _SUMMARIES, "72%"))
    rows.insert(4, _row("join, with the library's index", "join", [_INDEX], ""))
    return rows


def _row(title: str, operator: str, more: Sequence[str], in_paper: str) -> list[str]:
    here = sum(_count(_ROWS / f"{name}.py") for name in (f"operators/{operator}", *more))
    by_hand = _count(_HANDWRITTEN / f"{operator}.py")
    return [title, str(here), str(by_hand), f"{here / by_hand:.0%}", in_paper.replace("%", " %")]


def _count(path: Path) -> int:
    return lines_of_code(path.read_text(encoding="utf-8"))


def main() -> None:
    """Count, print, and write the table."""
    lines = markdown(table())
    print("\n".join(lines))
    replace_block(DOCUMENT, "lines", lines)


if __name__ == "__main__":
    typer.run(main)
