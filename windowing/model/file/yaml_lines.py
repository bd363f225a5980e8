"""Safe YAML loading: bounded size, depth and aliases, with the line of every field.

Hostile text costs PyYAML minutes, gigabytes, or an unrelated Python error: nested aliases grow
exponentially, `!!binary` gives bytes instead of text, an impossible date raises `ValueError`. Here
each of these is a problem with file and line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.cyaml import CParser  # type: ignore[attr-defined]
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import Resolver
from yaml.scanner import Scanner

from windowing.model.errors import PipelineError, Problem, shown

Path = tuple[str | int, ...]

BYTES_MAX = 4 * 1024 * 1024
"""The largest document, in bytes."""

NODES_MAX = 300_000
"""The most nodes in a document, with those that aliases repeat."""


@dataclass(frozen=True)
class Limits:
    """How large a document may be for whoever reads it.

    Attributes:
        nodes_max: its nodes, with those that aliases repeat.
        remedy: what to do about one that is larger.
    """

    bytes_max: int = BYTES_MAX
    nodes_max: int = NODES_MAX
    remedy: str = "split it"


LIMITS: Final = Limits()
"""For who reads a document on their own behalf."""

RUN_LIMITS: Final = Limits(bytes_max=256 * 1024 * 1024, nodes_max=20_000_000)
"""For a run's own copy of its file, which has what its log has added, within its own limits."""

SHARED_LIMITS: Final = Limits(
    bytes_max=256 * 1024,
    nodes_max=20_000,
    remedy="split it: only commands, which make nobody else wait, take a larger one",
)
"""For a service that reads everybody's documents: what one costs, all others wait for."""

DEPTH_MAX = 40
"""The deepest nesting of lists and mappings."""

_SLOW_MAX = 512 * 1024
"""The largest document that PyYAML's own parser reads; it is ten times as slow as libyaml."""

TEXT_MAX = 8_192
"""The most characters in one scalar."""

_TAG: Final = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
_TAGS = frozenset(
    _TAG + name
    for name in ("null", "bool", "int", "float", "timestamp", "str", "seq", "map", "merge", "value")
)
_NULLABLE = re.compile(r"(?<=[\s:,{\[])(\w+\?)(?=\s*(?:[,}\]#]|$))")
"""An unquoted nullable type: inside braces, YAML takes the ? for a key indicator."""

_HINTS = {
    "'\\t'": "indent with spaces",
    "but got '?'": "put a text with ? into quotes, as {user: 'string?'}",
    "that cannot start any token": "put the text into quotes",
    "found undefined alias": "write the value itself, or give it an &anchor before",
}
"""Remedies for scanner errors, by a part of their messages."""


class _RuleError(Exception):
    def __init__(self, mark: yaml.Mark | None, message: str) -> None:
        self.line = mark.line + 1 if mark else 0
        super().__init__(message)


_PLAIN: Final = {
    "null": (r"~|null|Null|NULL|", "~nN\0"),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    "float": (
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+.0123456789",
    ),
    "timestamp": (
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
        r"(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
        r"(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::?[0-9]{2})?))?)?",
        "0123456789",
    ),
    "merge": (r"<<", "<"),
}
"""What text without quotes stands for by the core schema of YAML 1.2, and how it begins. PyYAML has
that of 1.1, to which `on` is true, `1:30` is 90 and `010` is 8. Instants are 1.1's."""


class _CoreResolver(Resolver):
    """Resolves by `_PLAIN` alone."""


_CoreResolver.yaml_implicit_resolvers = {}


def _resolve_plain(resolver: Any) -> None:
    for name, (pattern, begins) in _PLAIN.items():
        firsts = ["" if first == "\0" else first for first in begins]
        resolver.add_implicit_resolver(_TAG + name, re.compile(rf"(?:{pattern})\Z"), firsts)


_resolve_plain(_CoreResolver)


class _Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper, which quotes texts that either version takes for something else."""


_resolve_plain(_Dumper)


class _Loader(Composer, SafeConstructor, _CoreResolver):
    """PyYAML's safe loader of a parser's events, which stops as soon as they exceed a limit."""

    def __init__(self, text: str, parser: Callable[[str], Any], limits: Limits) -> None:
        self._limits = limits
        events = parser(text)
        self.check_event, self.peek_event = events.check_event, events.peek_event
        self.get_event, self.dispose = events.get_event, events.dispose
        for part in (Composer, SafeConstructor, _CoreResolver):
            part.__init__(self)
        self._sizes: dict[int, int] = {}
        self._nodes = 0
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        mark = self.peek_event().start_mark
        if self._depth == DEPTH_MAX:
            msg = f"lists and mappings stand in each other {DEPTH_MAX} deep: write it flatter"
            raise _RuleError(mark, msg)
        is_alias = self.check_event(yaml.AliasEvent)
        before = self._nodes
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        _check_question(node, parent)
        if node is None:
            return None
        if is_alias and id(node) not in self._sizes:  # still being composed
            raise _RuleError(mark, "an alias inside of what it stands for: write the value itself")
        self._nodes += self._sizes[id(node)] if is_alias else 1
        if self._nodes > (most := self._limits.nodes_max):
            msg = f"more than {most:,} keys and values, aliases counted as often as they stand"
            raise _RuleError(mark, f"{msg}: repeat less, or {self._limits.remedy}")
        if not is_alias:
            self._sizes[id(node)] = self._nodes - before
            _check_node(node)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (yaml.YAMLError, _RuleError):
            raise
        except Exception as error:
            # PyYAML does not check values such as the date 2024-02-30, or `!!int abc`; whatever
            # the conversion raises escapes.
            kind = node.tag.removeprefix(_TAG)
            msg = f"{shown(node.value)} is no {kind} ({error}): correct it, or put it into quotes"
            raise _RuleError(node.start_mark, msg) from None


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = loader.construct_scalar(node)
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    if "_" in text:
        msg = "digits have no _ between them"
        raise ValueError(msg)
    return int(text, base)


_Loader.add_constructor(f"{_TAG}int", _integer)  # type: ignore[type-var]


class _Parser(Reader, Scanner, Parser):
    """PyYAML's own parser: slow, and clear about what is wrong."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


def _check_question(node: yaml.Node | None, parent: yaml.Node | None) -> None:
    """Refuse an unquoted ? within braces or brackets, which libyaml takes and PyYAML does not."""
    within = isinstance(parent, yaml.CollectionNode) and parent.flow_style
    if within and isinstance(node, yaml.ScalarNode) and not node.style and "?" in node.value:
        raise yaml.MarkedYAMLError(problem="but got '?'", problem_mark=node.start_mark)


def _check_node(node: yaml.Node) -> None:
    if node.tag not in _TAGS:
        tag = node.tag.replace(_TAG, "!!")
        msg = f"{tag} is a kind of value that has no place here: write text, a number or a list"
        raise _RuleError(node.start_mark, msg)
    if isinstance(node, yaml.ScalarNode) and len(node.value) > TEXT_MAX:
        msg = f"a text of {len(node.value):,} characters: one has at most {TEXT_MAX:,}"
        raise _RuleError(node.start_mark, msg)
    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _RuleError(key.start_mark, "a key is a text or a number, not a list or a mapping")
        merged = value.value if isinstance(value, yaml.SequenceNode) else [value]
        if key.tag == _MERGE and not all(isinstance(one, yaml.MappingNode) for one in merged):
            raise _RuleError(value.start_mark, "<< takes a mapping, or a list of mappings")


def spell(document: Any, width: int | None = None) -> str:
    """Return a document as YAML, in the order of its keys.

    Args:
        width: of a line, in characters; None: PyYAML's own.
    """
    spelled: str = yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=width
    )
    return spelled


def load(text: str) -> Any:
    """Load a document of our own, or one that was loaded before, as `load_with_lines` does."""
    return load_with_lines(text, "", RUN_LIMITS)[0]


def load_with_lines(text: str, file: str, limits: Limits = LIMITS) -> tuple[Any, dict[Path, int]]:
    """Load one YAML document.

    Returns:
        the plain value, and the line (from 1) of each path into it.

    Raises:
        PipelineError: not YAML, more than one document, a key given twice, or too large.
    """
    if len(text) > limits.bytes_max:
        size = f"{len(text):,} characters"
        raise PipelineError([Problem(file, 0, "", too_large(size, limits))])
    try:
        return _loaded(_Loader(text, CParser, limits), file)
    except (yaml.YAMLError, UnicodeEncodeError):  # the latter of a surrogate
        return _loaded_slowly(text, file, limits)


def _loaded_slowly(text: str, file: str, limits: Limits) -> tuple[Any, dict[Path, int]]:
    """Load one document by the parser that says best what is wrong; like `load_with_lines`."""
    try:
        parser = _Parser if len(text) <= _SLOW_MAX else CParser
        return _loaded(_Loader(text, parser, limits), file)
    except UnicodeEncodeError as error:
        raise _odd_character(text, file, error.start, text[error.start]) from None
    except yaml.reader.ReaderError as error:
        raise _odd_character(text, file, error.position, error.character) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        raise PipelineError([Problem(file, line, "", _message(error, text))]) from None


def _loaded(loader: _Loader, file: str) -> tuple[Any, dict[Path, int]]:
    try:
        node = loader.get_single_node()
        lines: dict[Path, int] = {}
        if node is None:
            return None, lines
        problems = list(_walk(node, (), lines, file))
        if problems:
            raise PipelineError(problems)
        return loader.construct_document(node), lines
    except _RuleError as error:
        raise PipelineError([Problem(file, error.line, "", str(error))]) from None
    finally:
        loader.dispose()


def too_large(size: str, limits: Limits) -> str:
    """Return the problem of a document that is too large."""
    return f"has {size}: at most {limits.bytes_max // 1024} KiB are read, {limits.remedy}"


def _odd_character(text: str, file: str, at: int, character: str | int) -> PipelineError:
    line = text.count("\n", 0, at) + 1
    code = character if isinstance(character, int) else ord(character)
    msg = f"not YAML: the character U+{code:04X} is not allowed: take it out"
    return PipelineError([Problem(file, line, "", msg)])


def _message(error: yaml.MarkedYAMLError, text: str) -> str:
    """Return PyYAML's message, with a remedy if the message alone is unclear."""
    problem = error.problem or error.context or "it cannot be read"
    if "got '?'" in problem and error.problem_mark is not None:
        line = text.splitlines()[error.problem_mark.line]
        quoted = _NULLABLE.sub(r'"\1"', line)
        if quoted != line:
            return f"not YAML: a ? has to stand in quotes here; quote it, as: {quoted.strip()}"
    hint = next((hint for part, hint in _HINTS.items() if part in problem), None)
    return f"not YAML: {problem}" + (f": {hint}" if hint else "")


def line_of(path: Path, lines: dict[Path, int]) -> int:
    """Return the line of a path, or of its nearest ancestor in the file."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def _walk(node: yaml.Node, path: Path, lines: dict[Path, int], file: str) -> Iterator[Problem]:
    """Record the line of every path below a node; return the duplicate keys."""
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in seen:
                dotted = ".".join(map(str, (*path, name)))
                text = f"given twice (first on line {seen[name]}): keep one of them"
                yield Problem(file, line, dotted, text)
            seen[name] = line
            lines[(*path, name)] = line
            yield from _walk(value, (*path, name), lines, file)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _walk(value, (*path, index), lines, file)
