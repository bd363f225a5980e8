"""Tests in a pipeline file: a log, and the rows that it has to give, by the names of OUT.jsonl.

    tests:
      a late record revises its window:
        given: ['s/0 0 {"ts": 1, "v": 5}', 's/0 1 control {"bound": 20}']
        expect: {w: [{window_id: 0, pane: full, values: {n: 1}}], dead_letters: []}

They say nothing about what the pipeline means: no fingerprint knows them. Here is what they may
say; whether their queries, lanes and events exist is for who runs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from windowing.model.errors import quoted, shown
from windowing.model.lengths import instant_us
from windowing.model.names import FileName
from windowing.model.source import SpecModel

LETTERS = "dead_letters"
"""The name under `expect` that is none of a query: what no window took."""

_NAME_MAX = 200


def _name(value: object) -> str:
    if not isinstance(value, str):
        msg = quoted(value) or f"{shown(value)} is not the name of a test: write a sentence"
        raise ValueError(msg)
    if not value.strip() or not value.isprintable() or len(value) > _NAME_MAX:
        msg = f"{shown(value)} names no test: write a sentence of up to {_NAME_MAX} characters"
        raise ValueError(msg)
    return value


def _as_in_rows(value: object) -> object:
    """Spell dates and instants of YAML as rows have them."""
    if isinstance(value, datetime):
        return instant_us(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list):
        return [_as_in_rows(one) for one in value]
    if isinstance(value, dict):
        return {name: _as_in_rows(one) for name, one in value.items()}
    return value


def _instant(value: object) -> object:
    return value if isinstance(value, int) else instant_us(value)


_Int = Annotated[int, Field(strict=True)]
_Count = Annotated[int, Field(strict=True, ge=0)]
_Instant = Annotated[int, BeforeValidator(_instant), Field(strict=True)]
_Plain = Annotated[Any, BeforeValidator(_as_in_rows)]


class _Expected(SpecModel):
    """What a line of output has to be; what is not named is not compared."""

    @property
    def named(self) -> Mapping[str, Any]:
        """What is compared, by the names of the line; members of a mapping each by `NAME.MEMBER`.

        An empty mapping is compared as a whole.
        """
        found: dict[str, Any] = {}
        for name in type(self).model_fields:
            if name not in self.model_fields_set:
                continue
            value = getattr(self, name)
            if isinstance(value, dict) and value:
                found |= {f"{name}.{member}": one for member, one in value.items()}
            else:
                found[name] = value
        return found


class ExpectedRow(_Expected):
    """A row, as a line of OUT.jsonl; instants may be written as ISO 8601 in place of µs."""

    query: str | None = None
    window_id: _Int | None = None
    window_start: _Instant | None = None
    window_end: _Instant | None = None
    key: Annotated[list[Any], BeforeValidator(_as_in_rows)] | None = None
    pane: Literal["full", "late"] | None = None
    revision: _Count | None = None
    records: _Count | None = None
    offsets: dict[str, list[_Count]] | None = None
    values: dict[str, _Plain] | None = None
    overflow: list[str] | None = None
    tombstone: Annotated[bool, Field(strict=True)] | None = None
    absorbed_by: _Instant | None = None
    op: Literal["retract"] | None = None


class ExpectedLetter(_Expected):
    """A dead letter, as a line of OUT.dead.jsonl with what `--explain-dead` adds."""

    source: str | None = None
    partition: _Count | None = None
    offset: _Count | None = None
    query: str | None = None
    reason: str | None = None
    field: str | None = None
    value: str | None = None
    rule: str | None = None


class _Letters(list[Any]):
    """What stands under `dead_letters`, marked by its class for the choice of a model."""


def _kind(value: object) -> str:
    if isinstance(value, _Letters):
        return "[letters]"
    return "[rows]" if isinstance(value, list) else "[count]"


Expectation = Annotated[
    Annotated[list[ExpectedRow], Tag("[rows]")]
    | Annotated[list[ExpectedLetter], Tag("[letters]")]
    | Annotated[_Count, Tag("[count]")],
    Discriminator(_kind),
]


def _marked(value: object) -> object:
    if not isinstance(value, dict) or not isinstance(value.get(LETTERS), list):
        return value
    return {**value, LETTERS: _Letters(value[LETTERS])}


class FileTest(SpecModel):
    """One test.

    Attributes:
        given: the log, in the order of arrival: `LANE OFFSET VALUE`, `LANE OFFSET control JSON`,
            or a line of EVENTS.jsonl, which can say more.
        file: an EVENTS.jsonl that has the log instead, from the folder of the pipeline file.
        expect: rows by query; under `dead_letters` what is in OUT.dead.jsonl; under the name of
            what steps of reading count (`filtered`, `duplicates`, `warned:RULE`) a number.
    """

    given: tuple[str, ...] | None = None
    file: FileName | None = None
    expect: Annotated[dict[str, Expectation], BeforeValidator(_marked)]

    @model_validator(mode="after")
    def _one_log(self) -> Self:
        if (self.given is None) == (self.file is None):
            msg = (
                "a test has one log: given: ['s/0 0 {\"ts\": 1}'], a line for each record, or "
                "file: EVENTS.jsonl"
            )
            raise ValueError(msg)
        if not self.expect:
            msg = "expect is empty: name a query, as {w: []} where it is to send nothing"
            raise ValueError(msg)
        return self


TestName = Annotated[str, BeforeValidator(_name)]
