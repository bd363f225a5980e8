"""A generator of a user's package, as data: reading it runs no code of the package.

Building a run or a fingerprint imports the package, which parses the settings.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from windowing.model.facts import Facts
from windowing.model.progress.disorder import GENERATORS, Disorder
from windowing.model.registry import PluginError, declared_module
from windowing.model.user.user_source import digest


@dataclass(frozen=True)
class PluginGenerator(Disorder):
    """The name of a plug-in's generator, and its settings.

    Attributes:
        name: the declared name, as in the file.
        settings: as JSON, so that they are plain values and compare by value.
    """

    name: str
    settings: str

    @classmethod
    def of(cls, name: str, settings: object) -> PluginGenerator:
        """Build it from the settings in a file.

        Raises:
            ValueError: the settings are not plain values.
        """
        try:
            return cls(name, json.dumps(settings, sort_keys=True, allow_nan=False))
        except (TypeError, ValueError) as error:
            msg = f"its settings must be numbers, texts, lists and mappings of them: {error}"
            raise ValueError(msg) from None

    @cached_property
    def data(self) -> Any:
        """The result of the plug-in's `parse`.

        Raises:
            PluginError: it cannot be imported, or its settings break one of its rules.
        """
        parse = GENERATORS.required(self.name)
        try:
            return parse(json.loads(self.settings))
        # Any exception is a mistake in the file or in the user's code.
        except Exception as error:
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            msg = f"disorder: {{{self.name}: {self.settings}}}: {kind}{error}"
            raise PluginError(msg) from error

    @property
    def fits_numbers(self) -> bool:
        """True: only its package knows."""
        return True

    def facts(self) -> Facts:
        """Return its name, settings and code digest: other source makes another pipeline.

        Raises:
            PluginError: it cannot be imported or read.
        """
        assert self.data is not None  # noqa: S101 - settings that break a rule raise here
        return {"plugin": self.name, "settings": self.settings, "code": self._code()}

    def _code(self) -> str:
        """Return a digest of the source that decides its bounds."""
        groups = ("generators", "lane_generators")
        modules = [name for group in groups if (name := declared_module(group, self.name))]
        try:
            return digest(*modules)
        except OSError as error:
            msg = f"the generator {self.name}: {error}: write it in a file"
            raise PluginError(msg) from None

    def explained(self, attribute: str, *, timed: bool) -> str:
        """Return a sentence that names the plug-in."""
        del attribute, timed
        return f"what the plug-in {self.name} makes of its records"
