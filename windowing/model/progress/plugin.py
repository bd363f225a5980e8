"""A generator of a user's package, as a pipeline file names it: no code of the package is run.

What its settings mean is known when a run is made, or its fingerprint: that imports the package.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from windowing.model.facts import Facts
from windowing.model.progress.disorder import GENERATORS, Disorder
from windowing.model.registry import PluginError, declared_module
from windowing.model.user.user_source import sources

_DIGITS = 16


@dataclass(frozen=True)
class PluginGenerator(Disorder):
    """The name of a plug-in's generator, and its settings.

    Attributes:
        name: as it is declared, and stands in the file.
        settings: as JSON, so that they are plain values, and compare by what they say.
    """

    name: str
    settings: str

    @classmethod
    def of(cls, name: str, settings: object) -> PluginGenerator:
        """Keep what a file says.

        Raises:
            ValueError: the settings are no plain values.
        """
        try:
            return cls(name, json.dumps(settings, sort_keys=True, allow_nan=False))
        except (TypeError, ValueError) as error:
            msg = f"its settings must be numbers, texts, lists and mappings of them: {error}"
            raise ValueError(msg) from None

    @cached_property
    def data(self) -> Any:
        """What `parse` of the plug-in's class makes of the settings.

        Raises:
            PluginError: it cannot be imported, or its settings break a rule of its own.
        """
        parse = GENERATORS.required(self.name)
        try:
            return parse(json.loads(self.settings))
        # Whatever the user's code raises is a mistake in the file, or in that code.
        except Exception as error:
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            msg = f"disorder: {{{self.name}: {self.settings}}}: {kind}{error}"
            raise PluginError(msg) from error

    @property
    def fits_numbers(self) -> bool:
        """True: what it says of a number, its package knows."""
        return True

    def facts(self) -> Facts:
        """Its name, settings and code: another source is another pipeline.

        Raises:
            PluginError: it cannot be imported or read.
        """
        assert self.data is not None  # noqa: S101 - a mistake in its settings shows here
        return {"plugin": self.name, "settings": self.settings, "code": self._code()}

    def _code(self) -> str:
        """A digest of the source that decides its bounds."""
        groups = ("generators", "lane_generators")
        modules = [name for group in groups if (name := declared_module(group, self.name))]
        try:
            found = json.dumps(sources(*modules), sort_keys=True)
        except OSError as error:
            msg = f"the generator {self.name}: {error}: write it in a file"
            raise PluginError(msg) from None
        return hashlib.sha256(found.encode()).hexdigest()[:_DIGITS]

    def explained(self, attribute: str, *, timed: bool) -> str:
        """Whose affair it is."""
        del attribute, timed
        return f"what the plug-in {self.name} makes of its records"
