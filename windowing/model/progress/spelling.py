"""Syntax of generators in a pipeline file: `disorder: NAME` or `disorder: {NAME: settings}`."""

from __future__ import annotations

from collections.abc import Mapping

from windowing.model.lengths import LENGTH_MAX
from windowing.model.progress.disorder import GENERATORS, Disorder
from windowing.model.progress.plugin import PluginGenerator
from windowing.model.progress.settings import RULE
from windowing.model.progress.slack import Slack
from windowing.model.registry import declared_names


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
    msg = f"E_DISORDER: {value!r} is not a generator: {RULE}{plugins}"
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
