"""The rule of `layout: one`: what queries must have in common whose rows go to one table.

The table has the columns of all queries; a row is null where its query has no such aggregate. So
columns of one name must have one type. All queries have the same key, since a row's key is part of
its identity, and a table keeps its key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from windowing.model.fields import value_type
from windowing.model.query import Flow
from windowing.model.types import FieldType


class LayoutError(ValueError):
    """Queries whose rows cannot share a table.

    Attributes:
        query: the first one that does not go with those before it.
    """

    def __init__(self, query: str, message: str) -> None:
        self.query = query
        super().__init__(message)


def check_one_table(flows: Sequence[Flow], fields: Mapping[str, FieldType]) -> None:
    """Check that the rows of all queries can go to one table.

    Args:
        flows: the queries, or a join.
        fields: of their source.

    Raises:
        LayoutError: two have different keys, or a column in common with different types.
    """
    first, known = flows[0], dict[str, tuple[str, str]]()
    key = _never_null(first.key_types(fields))
    for flow in flows:
        own = _never_null(flow.key_types(fields))
        if own != key:
            msg = (
                f"sink: {{layout: one}}: the key of {flow.name} is {_spelled(own)}, and that of "
                f"{first.name} is {_spelled(key)}: group by the same fields, or leave layout out, "
                "so that each query has a table of its own"
            )
            raise LayoutError(flow.name, msg)
        for name, type_ in column_types(flow, fields).items():
            where, before = known.setdefault(name, (flow.name, type_))
            if type_ != before:
                msg = (
                    f"sink: {{layout: one}}: {name} is {type_} in {flow.name}, and {before} in "
                    f"{where}: give it another name, or leave layout out, so that each query has a "
                    "table of its own"
                )
                raise LayoutError(flow.name, msg)


def _never_null(key: Mapping[str, FieldType]) -> dict[str, FieldType]:
    """Return the types of columns, all of which may be null."""
    return {name: replace(type_, nullable=False) for name, type_ in key.items()}


def column_types(flow: Flow, fields: Mapping[str, FieldType]) -> dict[str, str]:
    """Return the types of a query's values, in words; of a user's class, its name.

    Reading a file imports no code of the user's.
    """
    if not flow.aggregates:
        return {name: f"{one}" for name, one in flow.value_types(fields).items()}
    found = {}
    for one in flow.aggregates:
        if one.user is not None:
            found[one.name] = f"a result of {one.user}"
        else:
            found[one.name] = f"{value_type(one, fields)}"
    return found


def _spelled(key: Mapping[str, FieldType]) -> str:
    return ", ".join(f"{name} ({type_})" for name, type_ in key.items()) or "empty"
