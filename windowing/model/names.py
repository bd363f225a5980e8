"""Names in files: of pipelines, topics, tables, schemas, queries, plans, runs.

A name becomes a folder, a file, a topic, the id of a DAG, a part of a URL. So it consists of a few
harmless characters, is neither `.` nor `..`, and obeys the strictest length limit of these.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, Final

from pydantic import BeforeValidator

from windowing.model.errors import shown

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
        msg = f"{shown(value)} is not a name: use letters, digits, _ . - (not . or - first)"
        raise ValueError(msg)
    if len(value) > most:
        msg = f"{shown(value)} has {len(value):,} characters: a name here has {most} at the most"
        raise ValueError(msg)
    return value


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
TopicName = Annotated[str, BeforeValidator(partial(check_name, most=249))]
PlanName = Annotated[str, BeforeValidator(partial(check_name, most=100))]
ColumnName = Annotated[str, BeforeValidator(partial(check_name, most=128))]
QueryName = Annotated[str, BeforeValidator(_check_query)]
FileName = Annotated[str, BeforeValidator(_check_file)]
"""The path of another file, as text."""
