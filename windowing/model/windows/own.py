"""Windows of users' own classes, as data.

Such a window is spelled `{months: {shift: 1 hour}, wattr: ts}`, with an optional `pattr`. Its kind
is looked up among the declared plug-ins, so parsing a file runs no user code. The package
interprets the clauses when a run is submitted, and later.

Source: `windowing/adr/0019-a-window-of-ones-own.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from windowing.model.errors import WindowError, shown
from windowing.model.facts import Facts
from windowing.model.registry import PluginError, declared_names, plugin_code
from windowing.model.windows.activity import Activity
from windowing.model.windows.language import AttributeType
from windowing.model.windows.registry import WINDOWS, check_kind
from windowing.model.windows.traits import Ends, Order, Traits
from windowing.model.windows.window import ROW_NUM, Align, Extent, Gaps, Spell

Clause = bool | int | float | str

_BESIDE: Final = frozenset({"wattr", "pattr"})


@dataclass(frozen=True)
class OwnWindow:
    """Windows of a user's class, which maps values to window numbers and numbers to extents.

    Attributes:
        kind: the registered name of the class.
        pattr: attribute that partitions the stream before windowing, or None.
        clauses: the mapping under the kind, sorted by name.
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
    active: ClassVar[Activity | None] = None

    def facts(self) -> Facts:
        """Return the window's facts for the fingerprint, with a digest of the package's code.

        Raises:
            WindowError: E_VALUE: a clause breaks a rule of the class.
            PluginError: there is no such plug-in, it cannot be imported, or it has no source.
        """
        self.made()  # raises for invalid clauses before anything is written
        return {
            "class": "own",
            "kind": self.kind,
            "over": self.attribute,
            "of_each": self.pattr,
            "clauses": dict(self.clauses),
            "code": plugin_code(f"window {self.kind}", self.kind, "windows", "window_parts"),
        }

    def title(self, spell: Spell) -> str:
        """Return the kind and the clauses as written."""
        del spell
        said = "".join(f", {name} {value}" for name, value in self.clauses)
        return f"{self.kind} over {self.attribute}{said}"

    def first_extents(self, count: int) -> list[Extent]:
        """Return none: only the package knows where its windows lie."""
        return []

    def made(self) -> Any:
        """Import the class and instantiate it with the clauses.

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


def missing_plugin(group: str, kind: str) -> PluginError:
    """Return the error about a kind without the plug-in that it needs."""
    return PluginError(f"window {kind}: no plug-in slackwater.{group} has this name: install it")


def own_kind(source: str | Mapping[str, object]) -> str | None:
    """Return the user's kind that a window in a file names; None: it names none.

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
    """Parse a window of a user's class.

    Args:
        types: the types of a record's fields.

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
