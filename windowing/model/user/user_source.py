"""The source of a user's module and of its imports from its own package.

A change of any of these makes another pipeline: a constant in a helper module decides a result as
much as the class does. Other packages, like Python itself, are assumed not to change.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, resolve_name
from pathlib import Path

_DIGITS = 16


def digest(*modules: str) -> str:
    """Return a digest of the sources of modules and of their imports.

    Raises:
        OSError: one of `modules` has no source.
    """
    found = json.dumps(sources(*modules), sort_keys=True)
    return hashlib.sha256(found.encode()).hexdigest()[:_DIGITS]


def sources(*modules: str, instead: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return, by name, the sources of modules and of their imports from their own packages.

    For a module outside any package, these are the other such modules of its folder. Imports are
        parsed, not run: dynamic ones are not seen.

    Args:
        modules: full names of modules that are already imported.
        instead: by a module's name, the text to take for its source.

    Raises:
        OSError: one of `modules` has no source.
    """
    found: dict[str, str] = {}
    places = [_Place(name) for name in modules]
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        spec = _spec(name)
        source = None if spec is None else (instead or {}).get(name) or _source(name, spec)
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
    def __init__(self, module: str) -> None:
        self._package, dot, _ = module.partition(".")
        self._folder = None if dot else _folder(module)

    def owns(self, module: str) -> bool:
        """Return whether another module is in the same package or folder."""
        package, dot, _ = module.partition(".")
        if package == self._package:
            return True
        return not dot and self._folder is not None and _folder(module) == self._folder


def _folder(module: str) -> Path | None:
    """Return the folder of a module outside any package; None: it is a package, or has no file."""
    spec = _spec(module)
    plain = spec is not None and spec.has_location and spec.submodule_search_locations is None
    return Path(spec.origin).parent if plain and spec is not None and spec.origin else None


def _spec(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except (ImportError, ValueError):
        # An optional import, or a name inside a module.
        return None


def _source(name: str, spec: ModuleSpec) -> str | None:
    """Return a module's text, or the bytes of a compiled one in hexadecimal, or None."""
    get_source = getattr(spec.loader, "get_source", None)
    text = None if get_source is None else get_source(name)
    if isinstance(text, str):
        # Some loaders keep the line endings of the file.
        return text.replace("\r\n", "\n").replace("\r", "\n")
    get_data = getattr(spec.loader, "get_data", None)
    if get_data is None or spec.origin is None or not spec.has_location:
        return None
    data: bytes = get_data(spec.origin)
    return data.hex()


def _imports(source: str, spec: ModuleSpec) -> Iterator[str]:
    """Return the names that a module imports; each may be a module."""
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
