"""Names in files: of pipelines, topics, tables, schemas, queries, plans, runs, fields, aggregates.

Most names become a folder, a file, a topic, the id of a DAG, a part of a URL. So they consist of a
few harmless characters, are neither `.` nor `..`, and obey the strictest length limit of these.
Names of fields and aggregates are any text that all supported tables can hold.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator

from windowing.model.errors import quoted, shown
from windowing.model.metadata import is_known_metadata
from windowing.model.paths import canonical
from windowing.model.windows.window import ROW_NUM

_PATTERN: Final = re.compile(r"[*^$|?+()\[\],]")
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")

RUN_MAX: Final = 128
TABLES_OF_SINKS: Final = frozenset({"commits", "dead_letters", "metrics", "tokens"})
"""Tables that a sink creates besides those of the queries."""


def check_name(value: object, most: int) -> str:
    """Check that a value is a name of up to `most` characters.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        rule = "use letters, digits, _ . - (not . or - first)"
        raise ValueError(f"{shown(value)} is not a name: {quoted(value) or rule}")
    if len(value) > most:
        msg = f"{shown(value)} has {len(value):,} characters: a name here has {most} at the most"
        raise ValueError(msg)
    return value


def _check_topic(value: object) -> str:
    if isinstance(value, list | dict) or (isinstance(value, str) and _PATTERN.search(value)):
        what = "a pattern" if isinstance(value, str) else "a list"
        msg = (
            f"{shown(value)}: {what} of topics is not taken: a source reads one topic, by its name "
            "(a join two), because the set of lanes is fixed"
        )
        raise ValueError(msg)
    return check_name(value, 249)


def _check_query(value: object) -> str:
    name = check_name(value, 128)
    if name in TABLES_OF_SINKS:
        msg = f"the sink has a table {name!r} of its own: give the query another name"
        raise ValueError(msg)
    return name


def _check_file(value: object) -> str:
    if not isinstance(value, str) or not value or not value.isprintable() or len(value) > 1024:
        msg = f"{shown(value)} names no file: write its path, as ../../pipelines/flights.yml"
        raise ValueError(msg)
    return value


# Kafka allows 249 characters, Airflow 250 for the id of a DAG, file systems 255 including our
# prefixes and suffixes; PostgreSQL 63.
PipelineName = Annotated[str, BeforeValidator(partial(check_name, most=200))]
TopicName = Annotated[str, BeforeValidator(_check_topic)]
PlanName = Annotated[str, BeforeValidator(partial(check_name, most=100))]
ColumnName = Annotated[str, BeforeValidator(partial(check_name, most=128))]
QueryName = Annotated[str, BeforeValidator(_check_query)]
FileName = Annotated[str, BeforeValidator(_check_file)]
"""The path of another file, as text."""


_BYTES_MAX = 255


def check_field_name(name: str) -> str:
    """Check the name of a field or an aggregate.

    Raises:
        ValueError: it is empty, not text, too long, or contains U+0000.
    """
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        msg = f"{name!r} is not text: it has half of a surrogate pair; write the whole character"
        raise ValueError(msg) from None
    if not name:
        msg = "a name is empty: name the field as it is called in a value, as delay"
        raise ValueError(msg)
    if "\0" in name:
        msg = f"{name!r} holds U+0000, which no table takes in a name: call it otherwise"
        raise ValueError(msg)
    if size > _BYTES_MAX:
        msg = f"{name[:40]!r}… has {size} bytes, and a name at most {_BYTES_MAX} bytes: shorten it"
        raise ValueError(msg)
    return name


def _check_path(name: str) -> str:
    found = canonical(check_field_name(name))
    if is_known_metadata(found):
        msg = f"{shown(name)} is metadata of every record: let the producer call a field otherwise"
        raise ValueError(msg)
    return found


def check_time_name(name: str) -> str:
    """Check the name of the event time's field, a path.

    Raises:
        ValueError: as for `check_field_name`; or it is reserved for row numbers in windows.
    """
    check_field_name(name)
    if name == ROW_NUM:
        msg = f"{name} is the number of a row to windows: give the event time another name"
        raise ValueError(msg)
    return canonical(name)


FieldName = Annotated[str, AfterValidator(check_field_name)]
PathName = Annotated[str, AfterValidator(_check_path)]
"""A field of values, by its path."""

TimeName = Annotated[str, AfterValidator(check_time_name)]
