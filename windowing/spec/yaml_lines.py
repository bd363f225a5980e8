"""YAML read safely, with the line of every field and duplicate keys refused."""

from __future__ import annotations

from typing import Any

import yaml

from windowing.spec.errors import PipelineError, Problem

Path = tuple[str | int, ...]


def load_with_lines(text: str, file: str) -> tuple[Any, dict[Path, int]]:
    """Read one YAML document.

    Returns:
        the plain value, and the line (from 1) of each path into it.

    Raises:
        PipelineError: not YAML, more than one document, or a key given twice.
    """
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        lines: dict[Path, int] = {}
        if node is None:
            return None, lines
        problems: list[Problem] = []
        _walk(node, (), lines, problems, file)
        if problems:
            raise PipelineError(problems)
        return loader.construct_document(node), lines
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        raise PipelineError([Problem(file, line, "", f"not YAML: {error.problem}")]) from None
    except yaml.YAMLError as error:
        raise PipelineError([Problem(file, 0, "", f"not YAML: {error}")]) from None
    finally:
        loader.dispose()


def line_of(path: Path, lines: dict[Path, int]) -> int:
    """The line of a path, or of its nearest ancestor that stands in the file."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def _walk(
    node: yaml.Node, path: Path, lines: dict[Path, int], problems: list[Problem], file: str
) -> None:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in seen:
                dotted = ".".join(map(str, (*path, name)))
                text = f"given twice (first on line {seen[name]}): keep one of them"
                problems.append(Problem(file, line, dotted, text))
            seen[name] = line
            lines[(*path, name)] = line
            _walk(value, (*path, name), lines, problems, file)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _walk(value, (*path, index), lines, problems, file)
