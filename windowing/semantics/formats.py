"""What formats and steps of sources mean: the definition's own reading of a value.

An entry is a third reading beside the engine's two halves, and shares nothing with them but the
data of `windowing.model.reading`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from windowing.model.fates import Fate
from windowing.model.reading import PartSpec
from windowing.model.registry import Registry
from windowing.model.rows import Scalar
from windowing.model.types import Kind
from windowing.semantics.json_objects import parse_object

Decode = Callable[[bytes | None], "Mapping[str, Any] | None"]
"""From a value's bytes to its members, as JSON values; None: it is malformed."""

StepDefinition = Callable[[int, dict[str, Scalar]], "Fate | str | None"]
"""From event time and fields, which it may change, to what becomes of a record.

A fate withholds it from windows, and a text is the reason of a dead letter; None: it continues."""

FORMAT_DEFINITIONS: Final = Registry[Callable[[Any, Mapping[str, Kind]], Decode]](
    "format_definition", "format_definitions"
)
"""What each format means, by its name: from its data, and the kinds of known members."""

STEP_DEFINITIONS: Final = Registry[Callable[[Any], StepDefinition]](
    "step_definition", "step_definitions"
)
"""What each step means, by its name: from its data."""


def decoding(named: PartSpec, wanted: Mapping[str, Kind]) -> Decode:
    """Return how a source's values are decoded.

    Args:
        wanted: the event time and the declared fields, each with the kind that a valid value has.
    """
    return FORMAT_DEFINITIONS.required(named.name)(named.data, wanted)


def definition_of_step(named: PartSpec) -> StepDefinition:
    """Return what a source's step means."""
    return STEP_DEFINITIONS.required(named.name)(named.data)


format_definition: Final = FORMAT_DEFINITIONS.entry
"""The decorator of a function that is the meaning of the format of a name."""

step_definition: Final = STEP_DEFINITIONS.entry
"""The decorator of a function that is the meaning of the step of a name."""


@format_definition("json")
def _json(settings: None, wanted: Mapping[str, Kind]) -> Decode:
    del settings
    return partial(parse_object, exact="decimal" in wanted.values())
