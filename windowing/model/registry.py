"""Kinds by name, ours and those of users' packages: faults, sinks, generators and others.

Our kinds register themselves when their modules are imported. A user's kind is declared, by an
entry point of an installed package or under `plugins:` in the project's settings, and imported on
demand: knowing its name runs none of its code.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final, Generic, TypeVar

PLUGINS_VARIABLE: Final = "SLACKWATER_PLUGINS"
"""Plug-ins of the project's settings: JSON, by group and name, each `module:attribute`."""

GROUPS: Final = (
    *("faults", "checks", "sinks", "readers"),
    *("generators", "lane_generators", "generator_definitions"),
    *("aggregates", "expectations"),
    *("windows", "window_parts", "window_definitions", "window_draws"),
)
"""What plug-ins may add; the entry points' groups are these, behind `slackwater.`."""

Kind = TypeVar("Kind")


class PluginError(ValueError):
    """A mistake in a plug-in, in a sentence that names it."""

    exit_code = 2


class Registry(Mapping[str, Kind], Generic[Kind]):
    """The kinds of one sort by name: ours as they were registered, then plug-ins by the alphabet.

    Args:
        sort: one of them, for messages: `fault`.
        group: of `GROUPS`.
    """

    def __init__(self, sort: str, group: str) -> None:
        self._sort, self._group = sort, group
        self._kinds: dict[str, Kind] = {}
        self._origins: dict[str, str] = {}

    def add(self, name: str, kind: Kind, origin: str) -> None:
        """Register a kind.

        Args:
            name: as users write it.
            kind: what is known of it.
            origin: the module and the name of its code.

        Raises:
            PluginError: another has this name.
        """
        if self._origins.setdefault(name, origin) != origin:
            raise PluginError(self._taken(name, origin))
        self._kinds[name] = kind

    def __getitem__(self, name: str) -> Kind:
        """Give a kind, after importing it if it is a plug-in.

        Raises:
            KeyError: there is none of this name.
            PluginError: the plug-in cannot be imported, is none, or has the name of another.
        """
        declared = self._declared
        if name not in self._kinds:
            self._import(declared[name])
        return self._kinds[name]

    def __iter__(self) -> Iterator[str]:
        declared = self._declared
        yield from (name for name in self._kinds if name not in declared)
        yield from sorted(declared)

    def __len__(self) -> int:
        return len(self._kinds.keys() | self._declared.keys())

    def __contains__(self, name: object) -> bool:
        return name in self._kinds or name in self._declared

    def required(self, name: str) -> Kind:
        """Give a kind whose plug-in was declared where a file that names it was read.

        Raises:
            PluginError: here it is not declared; or as of `[]`.
        """
        if name not in self:
            msg = f"no plug-in slackwater.{self._group} has the name {name!r}: install its package"
            raise PluginError(msg)
        return self[name]

    def declares(self, name: str) -> bool:
        """Whether a plug-in has this name; it is not imported.

        Raises:
            PluginError: a kind of ours has the name, too.
        """
        return name in self._declared

    @property
    def _declared(self) -> Mapping[str, EntryPoint]:
        """Plug-ins by name, imported or not.

        Raises:
            PluginError: one has the name of another.
        """
        found = _declared_now(self._group)
        for name, point in found.items():
            origin = self._origins.get(name)
            if origin is not None and not _comes_from(origin, point):
                raise PluginError(self._taken(name, point.value))
        return found

    def _import(self, point: EntryPoint) -> None:
        try:
            point.load()
        except PluginError:
            raise
        # Whatever a user's module raises while it is imported is a mistake in the plug-in.
        except Exception as error:
            msg = f"{_told(point)} cannot be imported: {type(error).__name__}: {error}"
            raise PluginError(msg) from error
        if point.name not in self._kinds:
            msg = f"{_told(point)} is no {self._sort}: put @{self._sort}({point.name!r}) on it"
            raise PluginError(msg)

    def _taken(self, name: str, origin: str) -> str:
        return (
            f"{origin} cannot be the {self._sort} {name!r}: {self._origins[name]} is it already; "
            "give it another name"
        )


def declared_names(group: str) -> tuple[str, ...]:
    """The names of the plug-ins of a group, by the alphabet; none is imported."""
    return tuple(sorted(_declared_now(group)))


def declared_reference(group: str, name: str) -> str | None:
    """The `module:attribute` of a plug-in, which is not imported; None: there is none."""
    found = _declared_now(group).get(name)
    return None if found is None else found.value


def declared_module(group: str, name: str) -> str | None:
    """The module of a plug-in, which is not imported; None: none of the group has this name."""
    point = _declared_now(group).get(name)
    return None if point is None else point.module


def _declared_now(group: str) -> Mapping[str, EntryPoint]:
    return _declared(group, os.environ.get(PLUGINS_VARIABLE, ""), tuple(sys.path))


@cache
def _declared(group: str, settings: str, path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    """The plug-ins of a group; `path` is where packages are looked for, and part of the key."""
    del path
    points = list(entry_points(group=f"slackwater.{group}"))
    named = json.loads(settings)[group] if settings and group in json.loads(settings) else {}
    points += [EntryPoint(name, value, f"slackwater.{group}") for name, value in named.items()]
    found: dict[str, EntryPoint] = {}
    for point in points:
        before = found.setdefault(point.name, point)
        if before.value != point.value:
            msg = f"{_told(point)} has the name of {before.value}: give one of them another"
            raise PluginError(msg)
    return found


def _comes_from(origin: str, point: EntryPoint) -> bool:
    """Whether what was registered is what the plug-in names, or at home in the same package."""
    return origin.partition(".")[0] == point.module.partition(".")[0]


def _told(point: EntryPoint) -> str:
    return f"plug-in {point.name} = {point.value} ({point.group})"
