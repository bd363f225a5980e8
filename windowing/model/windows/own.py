"""Windows of users' own classes: what a file says of one, as data.

Such a window is spelled `{months: {shift: 1 hour}, wattr: ts}`, with `pattr` where it has one. Its
kind is known by the plug-ins that are declared, and the rest needs no code: so reading a file runs
none. What the package makes of the clauses is asked for when a run is submitted, and later.

Source: as of `windowing/adr/0019-a-window-of-ones-own.md`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from windowing.model.errors import WindowError, shown
from windowing.model.facts import Facts
from windowing.model.registry import PluginError, declared_module, declared_names
from windowing.model.user.user_source import sources
from windowing.model.windows.language import AttributeType
from windowing.model.windows.registry import WINDOWS, check_kind
from windowing.model.windows.traits import Ends, Order, Traits
from windowing.model.windows.window import ROW_NUM, Align, Extent, Gaps, Spell

Clause = bool | int | float | str

_BESIDE: Final = frozenset({"wattr", "pattr"})
_DIGITS = 16


@dataclass(frozen=True)
class OwnWindow:
    """Windows of a user's class: a record's value names them, and their numbers give their extents.

    Attributes:
        kind: the name of the class, as it is registered.
        attribute: the windowing attribute.
        pattr: attribute whose values split the stream before windows are made, or None.
        clauses: what stands under the kind, by the alphabet.
    """

    kind: str
    attribute: str
    pattr: str | None = None
    clauses: tuple[tuple[str, Clause], ...] = ()

    traits: ClassVar[Traits] = Traits(
        order=Order.FREE, ends=Ends.NUMBERED, per_key=True, revisable=True, shows_early=True
    )
    range_: ClassVar[int | None] = None
    slide: ClassVar[int] = 1
    origin: ClassVar[int] = 0
    align: ClassVar[Align] = "end"
    gaps: ClassVar[Gaps] = ()

    def facts(self) -> Facts:
        """Give the facts by which fingerprints know the window, the package's code among them.

        Raises:
            WindowError: E_VALUE: a clause breaks a rule of the class.
            PluginError: there is no such plug-in, it cannot be imported, or it has no source.
        """
        self.made()  # what its clauses break is said before anything is written
        return {
            "class": "own",
            "kind": self.kind,
            "over": self.attribute,
            "of_each": self.pattr,
            "clauses": dict(self.clauses),
            "code": self._code(),
        }

    def title(self, spell: Spell) -> str:
        """Say the kind and the clauses as they were written."""
        del spell
        said = "".join(f", {name} {value}" for name, value in self.clauses)
        return f"{self.kind} over {self.attribute}{said}"

    def first_extents(self, count: int) -> list[Extent]:
        """Give none: where its windows lie, the package alone knows."""
        return []

    def made(self) -> Any:
        """Make what the package makes of the clauses; it is imported for this.

        Raises:
            WindowError: E_VALUE: a clause breaks a rule of the class.
            PluginError: there is no such plug-in, or it cannot be imported.
        """
        if self.kind not in WINDOWS:
            raise missing_plugin("windows", self.kind)
        class_ = WINDOWS[self.kind]
        try:
            return class_(**dict(self.clauses))
        except (TypeError, ValueError) as error:
            raise WindowError("E_VALUE", f"window {self.kind}: {error}") from error

    def _code(self) -> str:
        """Digest the source of the class, of its parts in the engine, and of what they import.

        Raises:
            PluginError: there is no source to be read.
        """
        groups = ("windows", "window_parts")
        modules = [name for group in groups if (name := declared_module(group, self.kind))]
        try:
            spelled = json.dumps(sources(*modules), sort_keys=True)
        except OSError as error:
            msg = f"window {self.kind}: {error}, by which states of another version are told apart"
            raise PluginError(msg) from error
        return hashlib.sha256(spelled.encode()).hexdigest()[:_DIGITS]


def missing_plugin(group: str, kind: str) -> PluginError:
    """Say that nobody has declared what a window of a kind needs."""
    return PluginError(f"window {kind}: no plug-in slackwater.{group} has this name: install it")


def own_kind(source: str | Mapping[str, object]) -> str | None:
    """The kind of users' windows that a window in a file is of; None: it is none of theirs.

    Raises:
        PluginError: a plug-in has the name of a clause.
    """
    if isinstance(source, str):
        return None
    for kind in declared_names("windows"):
        check_kind(kind)
        if kind in source:
            return kind
    return None


def own_window(
    kind: str, source: Mapping[str, object], types: Mapping[str, AttributeType]
) -> OwnWindow:
    """Read a window of a user's class.

    Args:
        kind: the class.
        source: the mapping in the file.
        types: of the fields of a record.

    Raises:
        WindowError: E_SYNTAX, E_MISSING, E_ATTR_UNKNOWN or E_ATTR_TYPE.
    """
    if unknown := sorted(map(str, source.keys() - _BESIDE - {kind})):
        example = f"{{{kind}: {{}}, wattr: ts, pattr: key}}"
        msg = f"{unknown[0]!r} does not go with {kind}; an example: {example}"
        raise WindowError("E_SYNTAX", msg)
    wattr, pattr = source.get("wattr"), source.get("pattr")
    if wattr is None:
        raise WindowError(
            "E_MISSING", f"{kind} needs wattr, the attribute that its windows lie over"
        )
    for name in (wattr, pattr):
        if name is not None and (name not in types or name == ROW_NUM):
            known = ", ".join(sorted({*types} - {ROW_NUM}))
            raise WindowError("E_ATTR_UNKNOWN", f"{name} names no field; known: {known}")
    attribute = str(wattr)
    if types[attribute] == "text":
        raise WindowError("E_ATTR_TYPE", f"{attribute} is text: {kind} needs a time or a number")
    return OwnWindow(kind, attribute, None if pattr is None else str(pattr), _clauses(kind, source))


def _clauses(kind: str, source: Mapping[str, object]) -> tuple[tuple[str, Clause], ...]:
    given = source[kind] or {}
    if not isinstance(given, Mapping):
        msg = f"{kind}: {shown(given)}: give its clauses by name, or {{}} where it needs none"
        raise WindowError("E_SYNTAX", msg)
    clauses: dict[str, Clause] = {}
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, bool | int | float | str):
            msg = f"{kind}: {name}: {shown(value)}: a clause is a name with a text or a number"
            raise WindowError("E_SYNTAX", msg)
        clauses[name] = value
    return tuple(sorted(clauses.items()))
