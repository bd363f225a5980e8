"""Generators in a pipeline file: `disorder: NAME` or `disorder: {NAME: settings}`.

Reading a plug-in's generator runs no code of its package; building a run or a fingerprint imports
the package, which parses the settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from windowing.model.errors import meant
from windowing.model.facts import Facts
from windowing.model.lengths import LENGTH_MAX
from windowing.model.progress.disorder import GENERATORS, RULE, Disorder
from windowing.model.progress.generators import Slack
from windowing.model.registry import declared_names, parsed_settings, plain_settings, plugin_code


@dataclass(frozen=True)
class PluginGenerator(Disorder):
    """The name of a plug-in's generator, and its settings.

    Attributes:
        name: the declared name, as in the file.
        settings: as JSON.
    """

    name: str
    settings: str

    @classmethod
    def of(cls, name: str, settings: object) -> PluginGenerator:
        """Build it from the settings in a file.

        Raises:
            ValueError: the settings are not plain values.
        """
        return cls(name, plain_settings(settings))

    @cached_property
    def data(self) -> Any:
        """The result of the plug-in's `parse`.

        Raises:
            PluginError: it cannot be imported, or its settings break one of its rules.
        """
        place = f"disorder: {{{self.name}: {self.settings}}}"
        return parsed_settings(GENERATORS.required(self.name), self.settings, place)

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
        what = f"the generator {self.name}"
        code = plugin_code(what, self.name, "generators", "lane_generators")
        return {"plugin": self.name, "settings": self.settings, "code": code}

    def explained(self, attribute: str, *, timed: bool) -> str:
        """Return a sentence that names the plug-in."""
        del attribute, timed
        return f"what the plug-in {self.name} makes of its records"


def parse_disorder(value: object) -> Disorder:
    """Parse a generator; a plug-in's settings are kept unparsed, without an import.

    Raises:
        ValueError: E_DISORDER, with the rule.
    """
    name, settings = value, None
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, settings),) = value.items()
    if isinstance(name, str) and name in GENERATORS:
        try:
            if GENERATORS.declares(name):
                return PluginGenerator.of(name, settings)
            parsed: Disorder = GENERATORS[name](settings)
        except ValueError as error:
            msg = f"E_DISORDER: {name}: {error}"
            raise ValueError(msg) from None
        return parsed
    plugins = "".join(f", or {name}, a plug-in" for name in declared_names("generators"))
    close = meant(name, [*GENERATORS])
    msg = f"E_DISORDER: {value!r} is not a generator{close or ':'} {RULE}{plugins}"
    raise ValueError(msg)


def parse_disorder_of(value: object) -> Disorder:
    """Parse the generator of a plain number, whose slack is a number too: `{slack: 50}`.

    Raises:
        ValueError: E_DISORDER, with the rule.
    """
    if isinstance(value, Mapping) and set(value) == {"slack"} and type(value["slack"]) is int:
        slack = value["slack"]
        if not 0 <= slack <= LENGTH_MAX:
            msg = f"E_DISORDER: slack {slack} must be from 0 to {LENGTH_MAX}"
            raise ValueError(msg)
        return Slack(slack)
    disorder = parse_disorder(value)
    if not disorder.fits_numbers:
        msg = (
            f"E_DISORDER: {value!r} is about times, but this attribute is a number: use "
            "ordered, {slack: 50}, {slack: 500 rows}, ordered_per or adaptive"
        )
        raise ValueError(msg)
    return disorder
