"""Where the rows of a pipeline go, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, BeforeValidator, create_model

from windowing.model.names import check_name
from windowing.model.registry import declared_names
from windowing.model.sinks import postgres
from windowing.model.sinks.rules import SinkRules
from windowing.model.source import SpecModel

Layout = Literal["many", "one"]
"""Whether each query has its own table, or all rows go to one."""

ONE_TABLE: Final = "results"
"""The table of all queries' rows, where they have one."""

_OURS: Final[Mapping[str, SinkRules]] = {
    "table": SinkRules("Delta tables", in_folder=True, takes_one=True),
    "postgres": postgres.RULES,
}


@dataclass(frozen=True)
class Sink:
    """Where rows go.

    Attributes:
        kind: the key under `sink:`, which names a built-in sink or a plug-in's.
        name: of the folder, schema or other container of the rows.
        layout: whether each query has its own table there, or all rows go to one.
    """

    kind: str
    name: str
    layout: Layout = "many"

    @property
    def rules(self) -> SinkRules:
        """The rules of its kind for pipelines."""
        return _rules(self.kind)

    @property
    def section(self) -> dict[str, str]:
        """The section `sink:` that says so."""
        return {self.kind: self.name, **({} if self.layout == "many" else {"layout": self.layout})}

    def table_of(self, query: str) -> str:
        """Return the name of the table that has a query's rows.

        Args:
            query: its name, or that of a join.
        """
        return query if self.layout == "many" else ONE_TABLE


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
    layout = given.pop("layout")
    if len(given) != 1:
        msg = f"name one place: {' or '.join(f'sink: {{{kind}: NAME}}' for kind in kinds)}"
        raise ValueError(msg)
    [(kind, name)] = given.items()
    if layout != "many" and not _rules(kind).takes_one:
        msg = f"layout: {layout} is for {' and '.join(_OURS)}, not for {kind}: leave layout out"
        raise ValueError(msg)
    return Sink(kind, name, layout)


def _layout(value: object) -> object:
    if value not in get_args(Layout):
        msg = (
            f"{value!r} is no layout: many gives each query a table of its own, one puts the rows "
            f"of all queries into the table {ONE_TABLE}"
        )
        raise ValueError(msg)
    return value


def _rules(kind: str) -> SinkRules:
    return _OURS[kind] if kind in _OURS else SinkRules(kind)


@cache
def _section(kinds: tuple[str, ...]) -> type[BaseModel]:
    """Return the pydantic model of the section, with a key for each sink."""
    fields: dict[str, Any] = {"layout": (Annotated[Layout, BeforeValidator(_layout)], "many")}
    for kind in kinds:
        checked = BeforeValidator(partial(check_name, most=_rules(kind).name_most))
        fields[kind] = (Annotated[str, checked] | None, None)
    return create_model("Sink", __base__=SpecModel, **fields)
