"""How a source's values become records: a format, and steps that users' packages add behind it.

Both are named in the pipeline file: `format: NAME` or `format: {NAME: settings}`, and a step by its
own key of the source, `NAME: settings`. Engine and definition register a half of each under its
name. Reading a file imports no package: settings are kept as they are until a run asks for `data`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from windowing.model.facts import Fact
from windowing.model.fates import Fate
from windowing.model.registry import Registry, parsed_settings, plain_settings, plugin_code

Parse = Callable[[object], Any]
"""A function from the settings in a pipeline file, None if absent, to data; ValueError: a rule."""

FORMATS: Final = Registry[Parse]("value_format", "formats")
"""What `source.format` may be, by name."""

STEPS: Final = Registry[Parse]("reading_step", "reading_steps")
"""Steps that a source may name. Their data has `fate`: that of records which it withholds from
windows, or None."""

_REGISTRIES: Final[Mapping[str, Registry[Parse]]] = {"formats": FORMATS, "reading_steps": STEPS}
_HALVES: Final = {
    "formats": ("formats", "decoders", "format_definitions"),
    "reading_steps": ("reading_steps", "step_parts", "step_definitions"),
}


class MistakeAt(ValueError):
    """A broken rule in a part of a section.

    Attributes:
        path: of the part.
    """

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        self.path = path
        super().__init__(message)


@dataclass(frozen=True)
class PartSpec:
    """A format or a step, as a source names it.

    Attributes:
        group: `formats` or `reading_steps`.
        settings: as JSON, so that they are plain values and compare by value.
    """

    group: str
    name: str
    settings: str = "null"

    @classmethod
    def of(cls, group: str, name: str, settings: object) -> PartSpec:
        """Keep what a file says.

        Raises:
            ValueError: the settings are not plain values, or break a rule of a built-in kind.
            MistakeAt: the same, of a part of them.
        """
        try:
            named = cls(group, name, plain_settings(settings))
        except ValueError as error:
            msg = f"{name}: {error}"
            raise ValueError(msg) from None
        if not _REGISTRIES[group].declares(name):
            _REGISTRIES[group][name](settings)
        return named

    @cached_property
    def data(self) -> Any:
        """What its `parse` makes of the settings.

        Raises:
            PluginError: it cannot be imported, or its settings break one of its rules.
        """
        parse = _REGISTRIES[self.group].required(self.name)
        place = f"source: {{{self.name}: {self.settings}}}"
        return parsed_settings(parse, self.settings, place)

    @property
    def of_plugin(self) -> bool:
        """Whether a plug-in parses its settings, which reading a file does not do."""
        return _REGISTRIES[self.group].declares(self.name)

    def fact(self) -> Fact:
        """Return what of it decides a result; of a plug-in, its code too.

        Raises:
            PluginError: it cannot be imported or read.
        """
        if not self.of_plugin:
            return self.name if self.settings == "null" else [self.name, self.settings]
        assert self.data is not None  # noqa: S101 - settings that break a rule raise here
        code = plugin_code(self.name, self.name, *_HALVES[self.group])
        return {"plugin": self.name, "settings": self.settings, "code": code}

    @property
    def withholds(self) -> Fate | None:
        """The fate of records that it withholds from windows."""
        fate: Fate | None = self.data.fate
        return fate


JSON: Final = PartSpec("formats", "json")


def parse_format(value: object) -> PartSpec:
    """Parse `format: NAME` or `format: {NAME: settings}`.

    Raises:
        ValueError: there is no such format, or its settings break a rule.
    """
    if isinstance(value, PartSpec):
        return value
    name, settings = value, None
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, settings),) = value.items()
    if not isinstance(name, str) or name not in FORMATS:
        known = " or ".join(repr(one) for one in FORMATS)
        msg = f"{value!r} is not allowed: input should be {known}"
        raise ValueError(msg)
    return PartSpec.of("formats", name, settings)


def with_steps(source: object) -> object:
    """Move the keys of a source that name steps into `steps`, in the order of the file.

    Raises:
        ValueError: settings are not plain values, or break a rule.
    """
    if not isinstance(source, Mapping):
        return source
    named = [name for name in source if name in STEPS]
    if not named:
        return source
    steps = tuple(
        PartSpec.of("reading_steps", name, _settings(name, source[name])) for name in named
    )
    return {**{key: value for key, value in source.items() if key not in named}, "steps": steps}


IN_ORDER: Final = {"derive"}
"""Steps whose settings are a mapping of which the order counts; canonical JSON keeps none."""


def _settings(name: str, written: object) -> object:
    return [*written.items()] if name in IN_ORDER and isinstance(written, Mapping) else written


value_format: Final = FORMATS.parser
"""The decorator of a class whose `parse` reads a format's settings."""

reading_step: Final = STEPS.parser
"""The decorator of a class whose `parse` reads what is under a key of a source."""


def _no_settings(settings: object) -> None:
    if settings is not None:
        msg = f"json: {settings!r}: it has no settings: write format: json"
        raise ValueError(msg)


FORMATS.add("json", _no_settings, f"{__name__}.json")
