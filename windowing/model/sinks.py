"""Where the rows of a pipeline go, as data, and what each sink requires of a pipeline file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, BeforeValidator, create_model

from windowing.model.errors import WindowError
from windowing.model.event_time import SpecModel
from windowing.model.names import check_name
from windowing.model.registry import declared_names
from windowing.model.windows.window import Window


@dataclass(frozen=True)
class SinkRules:
    """A sink's rules for pipelines; a plug-in's sink has the defaults, as parsing imports none.

    Attributes:
        title: the name of the system, for messages.
        place: what `name` is the name of, such as a schema.
        name_most: the most characters of the name.
        earliest: no window may begin before this; None: no limit.
        in_folder: whether the rows are Delta tables in the run's folder of tables.
        takes_one: whether the rows of all queries may go to one table.
        check_names: raises ValueError if the names of a query and its columns are invalid.
        check_window: raises WindowError if the sink cannot hold the window.
    """

    title: str
    place: str = "the tables"
    name_most: int = 200
    earliest: int | None = None
    in_folder: bool = False
    takes_one: bool = False
    check_names: Callable[[str, Sequence[str]], None] = lambda query, columns: None
    check_window: Callable[[Window], None] = lambda window: None


_POSTGRES_COLUMNS = frozenset(
    {"row_id", "run", "query", "window_id", "window_start", "window_end"}
    | {
        "pane",
        "revision",
        "records",
        "offsets",
        "batch_id",
        "lag_us",
        "op",
        "tombstone",
        "absorbed_by",
        "overflow",
    }
)
_NAME_BYTES = 63

POSTGRES_EARLIEST: Final = -(2 * 10**17)
"""No window may begin before this: 340 years after PostgreSQL's earliest timestamp, 4714 BC."""


def _check_names(query: str, columns: Sequence[str]) -> None:
    """Check a query's table name, and its column names, which stand beside the sink's own."""
    for column in columns:
        if column in _POSTGRES_COLUMNS or columns.count(column) > 1:
            msg = f"the PostgreSQL table has a column {column!r} already: give it another name"
            raise ValueError(msg)
    for name in (query, *columns):
        if len(name.encode()) > _NAME_BYTES or "\0" in name or "%" in name:
            msg = f"{name!r} cannot name a PostgreSQL table or column: use 1 to 63 bytes without %"
            raise ValueError(msg)


def _check_window(window: Window) -> None:
    if window.origin < POSTGRES_EARLIEST:
        rule = f"at least {POSTGRES_EARLIEST} for a PostgreSQL sink, whose times begin in 4714 BC"
        raise WindowError("E_VALUE", f"ORIGIN {window.origin}, and must be {rule}")


Layout = Literal["many", "one"]
"""Whether each query has its own table, or all rows go to one."""

ONE_TABLE: Final = "results"
"""The table of all queries' rows, where they have one."""

_OURS: Final[Mapping[str, SinkRules]] = {
    "table": SinkRules("Delta tables", in_folder=True, takes_one=True),
    "postgres": SinkRules(
        "PostgreSQL",
        place="the schema",
        name_most=_NAME_BYTES,
        earliest=POSTGRES_EARLIEST,
        takes_one=True,
        check_names=_check_names,
        check_window=_check_window,
    ),
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
        """Return the name of the table that has the rows of a query, or of a join."""
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
    fields: dict[str, Any] = {"layout": (Annotated[Layout, BeforeValidator(_layout)], "many")}
    for kind in kinds:
        checked = BeforeValidator(partial(check_name, most=_rules(kind).name_most))
        fields[kind] = (Annotated[str, checked] | None, None)
    return create_model("Sink", __base__=SpecModel, **fields)
