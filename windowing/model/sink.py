"""Where the rows of a pipeline go, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, create_model

from windowing.model.names import check_name
from windowing.model.registry import declared_names
from windowing.model.sinks import postgres, table
from windowing.model.sinks.rules import SinkRules
from windowing.model.source import SpecModel

_OURS: Final[Mapping[str, SinkRules]] = {"table": table.RULES, "postgres": postgres.RULES}


@dataclass(frozen=True)
class Sink:
    """Where rows go.

    Attributes:
        kind: the key under `sink:`, which names a built-in sink or a plug-in's.
        name: of the folder, schema or other container of the rows.
    """

    kind: str
    name: str

    @property
    def rules(self) -> SinkRules:
        """The rules of its kind for pipelines."""
        return _rules(self.kind)


def parse_sink(value: object) -> object:
    """Parse the section `sink:`, which names one destination; imports no plug-in.

    Raises:
        ValueError: it names no destination, or several.
        ValidationError: a key is not a sink, or a name is invalid for its sink.
    """
    if value is None or isinstance(value, Sink):
        return value
    kinds = (*_OURS, *(kind for kind in declared_names("sinks") if kind not in _OURS))
    given = _section(kinds).model_validate(value).model_dump(exclude_none=True)
    if len(given) != 1:
        msg = f"name one place: {' or '.join(f'sink: {{{kind}: NAME}}' for kind in kinds)}"
        raise ValueError(msg)
    [(kind, name)] = given.items()
    return Sink(kind, name)


def _rules(kind: str) -> SinkRules:
    return _OURS[kind] if kind in _OURS else SinkRules(kind)


@cache
def _section(kinds: tuple[str, ...]) -> type[BaseModel]:
    """Return the pydantic model of the section, with a key for each sink."""
    fields: dict[str, Any] = {}
    for kind in kinds:
        checked = BeforeValidator(partial(check_name, most=_rules(kind).name_most))
        fields[kind] = (Annotated[str, checked] | None, None)
    return create_model("Sink", __base__=SpecModel, **fields)
