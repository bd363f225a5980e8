"""The source of a user's module, with that of what it imports from its own package.

A change of the source makes another pipeline, wherever it is in the package: a constant in a helper
module decides a result as much as the class does. Other packages, like Python itself, are assumed
to stay the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, resolve_name
from pathlib import Path


def sources(*modules: str) -> dict[str, str]:
    """The sources of modules, and of those that they import from their own packages, by name.

    A module outside of any package has the other such modules of its folder for its own. Imports
    are read, not run: one that a program puts together as it goes is not seen.

    Args:
        modules: full names; these were imported already.

    Raises:
        OSError: there is no source of one of `modules`.
    """
    found: dict[str, str] = {}
    places = [_Place(name) for name in modules]
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        spec = _spec(name)
        source = None if spec is None else _source(name, spec)
        if spec is None or source is None:
            if name in modules:
                msg = f"there is no source of {name}"
                raise OSError(msg)
            continue
        found[name] = source
        imported = _imports(source, spec)
        waiting += [one for one in imported if any(place.owns(one) for place in places)]
    return found


class _Place:
    """Where a module stands: its package, or the folder of one that has none."""

    def __init__(self, module: str) -> None:
        self._package, dot, _ = module.partition(".")
        self._folder = None if dot else _folder(module)

    def owns(self, module: str) -> bool:
        """Whether another module is of the same package, or stands in the folder."""
        package, dot, _ = module.partition(".")
        if package == self._package:
            return True
        return not dot and self._folder is not None and _folder(module) == self._folder


def _folder(module: str) -> Path | None:
    """The folder of a module outside of any package; None: it is a package, or has no file."""
    spec = _spec(module)
    plain = spec is not None and spec.has_location and spec.submodule_search_locations is None
    return Path(spec.origin).parent if plain and spec is not None and spec.origin else None


def _spec(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except (ImportError, ValueError):
        # An import that a program can do without, or a name inside of a module.
        return None


def _source(name: str, spec: ModuleSpec) -> str | None:
    """A module's text; the bytes of one that is compiled, in hexadecimal; None: it has neither."""
    get_source = getattr(spec.loader, "get_source", None)
    text = None if get_source is None else get_source(name)
    if isinstance(text, str):
        # Some loaders leave the ends of lines as they are.
        return text.replace("\r\n", "\n").replace("\r", "\n")
    get_data = getattr(spec.loader, "get_data", None)
    if get_data is None or spec.origin is None or not spec.has_location:
        return None
    data: bytes = get_data(spec.origin)
    return data.hex()


def _imports(source: str, spec: ModuleSpec) -> Iterator[str]:
    """The names that a module imports, each of which may be a module."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, spec)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names if alias.name != "*")


def _absolute(node: ast.ImportFrom, spec: ModuleSpec) -> str:
    name = "." * node.level + (node.module or "")
    try:
        return resolve_name(name, spec.parent)
    except ImportError:
        return node.module or ""
