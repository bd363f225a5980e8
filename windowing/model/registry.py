"""Registries of kinds by name, built-in and from users' packages: faults, sinks, generators, ….

Built-in kinds register themselves when their modules are imported. A user's kind is declared, by an
entry point of an installed package or under `plugins:` in the project's settings, and imported on
demand: listing names runs none of its code.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, Generic, TypeVar

from windowing.model.user.user_source import digest

PLUGINS_VARIABLE: Final = "SLACKWATER_PLUGINS"
"""Environment variable with plug-ins of the settings: JSON, `module:attribute` by group and
name."""

GROUPS: Final = (
    *("faults", "checks", "sinks", "readers"),
    *("generators", "lane_generators", "generator_definitions"),
    *("aggregates", "expectations"),
    *("formats", "decoders", "format_definitions", "format_draws"),
    *("reading_steps", "step_parts", "step_definitions"),
    *("windows", "window_parts", "window_definitions", "window_draws"),
)
"""What plug-ins may add; entry-point groups are these, prefixed with `slackwater.`."""

Kind = TypeVar("Kind")
_Entry = TypeVar("_Entry", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)


class PluginError(ValueError):
    """A mistake in a plug-in; the message names it."""

    exit_code = 2


class Registry(Mapping[str, Kind], Generic[Kind]):
    """The kinds of one sort: built-in ones as registered, then plug-ins in alphabetical order.

    Args:
        sort: the singular, for messages: `fault`.
        group: of `GROUPS`.
    """

    def __init__(self, sort: str, group: str) -> None:
        self._sort, self._group = sort, group
        self._kinds: dict[str, Kind] = {}
        self._origins: dict[str, str] = {}

    def add(self, name: str, kind: Kind, origin: str) -> None:
        """Register a kind, whose code is at `origin`: module and name.

        Raises:
            PluginError: the name is taken.
        """
        if self._origins.setdefault(name, origin) != origin:
            raise PluginError(self._taken(name, origin))
        self._kinds[name] = kind

    def entry(self, name: str) -> Callable[[_Entry], _Entry]:
        """Return a decorator that registers a class or a function, whose code is its origin.

        Raises:
            PluginError: the name is taken.
        """

        def register(entry: _Entry) -> _Entry:
            made: Any = entry
            self.add(name, made, f"{made.__module__}.{made.__qualname__}")
            return entry

        return register

    def parser(self, name: str) -> Callable[[_Class], _Class]:
        """Return a decorator that registers the `parse` of a class, which reads settings in a file.

        `parse` takes the settings as in the file, or None if there are none, and raises
        `ValueError`, with the rule, for invalid ones.

        Raises:
            PluginError: the class has no `parse`, or the name is taken.
        """

        def register(class_: _Class) -> _Class:
            origin = f"{class_.__module__}.{class_.__qualname__}"
            parse = getattr(class_, "parse", None)
            if parse is None:
                msg = f"{origin} cannot be the {self._sort} {name!r}: it lacks parse"
                raise PluginError(msg)
            self.add(name, parse, origin)
            return class_

        return register

    def __getitem__(self, name: str) -> Kind:
        """Return a kind, after importing it if it is a plug-in.

        Raises:
            KeyError: the name is unknown.
            PluginError: the plug-in cannot be imported, does not register the kind, or its name is
                taken.
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
        """Return a kind that was declared wherever its file was parsed.

        Raises:
            PluginError: it is not declared here; or as for `[]`.
        """
        if name not in self:
            msg = f"no plug-in slackwater.{self._group} has the name {name!r}: install its package"
            raise PluginError(msg)
        return self[name]

    def declares(self, name: str) -> bool:
        """Return whether a plug-in has this name, without importing it.

        Raises:
            PluginError: a built-in kind has this name, too.
        """
        return name in self._declared

    @property
    def _declared(self) -> Mapping[str, EntryPoint]:
        found = _declared_now(self._group)
        for name, point in found.items():
            origin = self._origins.get(name)
            # The plug-in itself, or its package, may have registered it already.
            package = point.module.partition(".")[0]
            if origin is not None and origin.partition(".")[0] != package:
                raise PluginError(self._taken(name, point.value))
        return found

    def _import(self, point: EntryPoint) -> None:
        try:
            point.load()
        except PluginError:
            raise
        # Any exception of the user's module during import is a mistake in the plug-in.
        except Exception as error:
            msg = f"{_described(point)} cannot be imported: {type(error).__name__}: {error}"
            raise PluginError(msg) from error
        if point.name not in self._kinds:
            msg = f"{_described(point)} is no {self._sort}: put @{self._sort}({point.name!r}) on it"
            raise PluginError(msg)

    def _taken(self, name: str, origin: str) -> str:
        return (
            f"{origin} cannot be the {self._sort} {name!r}: {self._origins[name]} is it already; "
            "give it another name"
        )


def declared_names(group: str) -> tuple[str, ...]:
    """Return the names of a group's plug-ins, sorted, without importing them."""
    return tuple(sorted(_declared_now(group)))


def declared_reference(group: str, name: str) -> str | None:
    """Return the `module:attribute` of a plug-in, without importing it, or None."""
    found = _declared_now(group).get(name)
    return None if found is None else found.value


def plugin_code(what: str, name: str, *groups: str) -> str:
    """Return a digest of the source of a plug-in's entries in some groups, and of their imports.

    Other source makes another pipeline.

    Raises:
        PluginError: the source cannot be read; the message names `what`.
    """
    points = (_declared_now(group).get(name) for group in groups)
    try:
        return digest(*(point.module for point in points if point is not None))
    except OSError as error:
        msg = f"{what}: {error}: write it in a file"
        raise PluginError(msg) from None


def plain_settings(settings: object) -> str:
    """Return settings as JSON, so that they are plain values and compare by value.

    Raises:
        ValueError: they are not plain values.
    """
    try:
        return json.dumps(settings, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        msg = f"its settings must be numbers, texts, lists and mappings of them: {error}"
        raise ValueError(msg) from None


def parsed_settings(parse: Callable[[object], Any], settings: str, place: str) -> Any:
    """Return what a plug-in's `parse` makes of settings that `plain_settings` has kept.

    Raises:
        PluginError: they break one of its rules; the message names the `place` in the file.
    """
    try:
        return parse(json.loads(settings))
    # Any exception is a mistake in the file or in the user's code.
    except Exception as error:
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        msg = f"{place}: {kind}{error}"
        raise PluginError(msg) from error


def _declared_now(group: str) -> Mapping[str, EntryPoint]:
    return _declared(group, os.environ.get(PLUGINS_VARIABLE, ""), tuple(sys.path))


# By `sys.path`; finding the entry points of all groups takes as long as finding those of one.
_installed = cache(lambda path: entry_points())


@cache
def _declared(group: str, settings: str, path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    points = list(_installed(path).select(group=f"slackwater.{group}"))
    named = json.loads(settings)[group] if settings and group in json.loads(settings) else {}
    points += [EntryPoint(name, value, f"slackwater.{group}") for name, value in named.items()]
    found: dict[str, EntryPoint] = {}
    for point in points:
        before = found.setdefault(point.name, point)
        if before.value != point.value:
            msg = f"{_described(point)} has the name of {before.value}: give one of them another"
            raise PluginError(msg)
    return found


def _described(point: EntryPoint) -> str:
    return f"plug-in {point.name} = {point.value} ({point.group})"
