"""A log whose personal values are hashed, so that real data can become a test.

A value is replaced by the beginning of its HMAC-SHA-256 under a salt: equal values by equal texts,
in all fields alike, so that what was grouped or joined is so again; and so is each record's key,
which mostly is one of them. Who has the salt can find out
which of some known values was meant: keep it secret, or throw it away.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final

import msgspec

from chaos.readers.log import LogError, LogRecord
from chaos.readers.value_parts import NoJson, changed, said
from windowing.model.control import unsealed
from windowing.model.errors import meant
from windowing.model.metadata import KEY, Metadata, header_of, is_metadata
from windowing.model.paths import Path, parse_path, spelled
from windowing.model.source import Source

_DIGITS: Final = 16
"""Of 64: one pair in a billion of a million values has the same text."""


class CannotHash(LogError):
    """Fields that cannot be hashed, or a record in which they cannot."""

    exit_code = 2


class Hashing:
    """Replaces the values of some fields.

    Args:
        source: of the log.
        fields: their paths.
        salt: what is secret.

    Attributes:
        withheld: how many values were no JSON, and so are replaced as a whole.

    Raises:
        CannotHash: a field is no text, or there is no salt.
    """

    def __init__(self, source: Source, fields: Sequence[str], salt: str) -> None:
        if not salt:
            msg = "--hash needs a salt: --salt-env NAME names a variable that has it"
            raise CannotHash(msg)
        self._salt, self.withheld = salt.encode("utf-8", "surrogateescape"), 0
        inside = [name for name in fields if not is_metadata(name)]
        self._paths = [_path(source, name) for name in inside]
        declared = {field for part in source.parts for field in part.fields}
        self._unseen = {spelled(path) for path in self._paths} - declared
        self._headers = {_header(name) for name in fields if is_metadata(name) and name != KEY}

    def of(self, log: Iterable[LogRecord]) -> Iterator[LogRecord]:
        """Yield the records of a log with hashed values.

        Raises:
            CannotHash: a signed control record is for a key that is hashed; or, at the end, no
                record had a field that the pipeline does not declare: is it spelled so?
        """
        for record in log:
            if record.control is not None:
                control = self._control(record, record.control)
                yield msgspec.structs.replace(record, control=control)
            else:
                value = None if record.value is None else self._value(record.value)
                metadata = self._metadata(record.metadata)
                yield msgspec.structs.replace(record, value=value, metadata=metadata)
        if self._unseen:
            msg = f"--hash {min(self._unseen)}: no record has it: correct its spelling"
            raise CannotHash(msg)

    def _metadata(self, found: Metadata) -> Metadata:
        headers = (
            (name, self._bytes(text) if name in self._headers else text)
            for name, text in found.headers
        )
        return replace(found, key=self._bytes(found.key), headers=tuple(headers))

    def _bytes(self, value: bytes | None) -> bytes | None:
        if value is None:
            return None
        return self._digest(value.decode("utf-8", "surrogateescape")).encode()

    def _value(self, value: bytes) -> bytes:
        text = value.decode("utf-8", "surrogateescape")
        try:
            hashed = self._hashed(text, self._paths)
        except NoJson:
            self.withheld += 1
            return f"withheld {self._digest(text)}".encode()
        return value if hashed is None else hashed.encode("utf-8", "surrogateescape")

    def _control(self, record: LogRecord, control: bytes) -> bytes:
        found = unsealed(control)
        text = found.body.decode("utf-8", "surrogateescape")
        try:
            hashed = self._hashed(text, [("on", spelled(path)) for path in self._paths])
        except NoJson:
            self.withheld += 1
            hashed = json.dumps(f"withheld {self._digest(text)}")
        if hashed is None:
            return control
        if found.signature is not None:
            msg = (
                f"{record.source}/{record.partition}, offset {record.offset}: a control record on "
                "a hashed key is signed, and would be believed no more: leave it out of the range"
            )
            raise CannotHash(msg)
        return hashed.encode("utf-8", "surrogateescape")

    def _hashed(self, text: str, paths: Sequence[Path]) -> str | None:
        """Return a value with hashed parts; None: it has none of them."""
        before = text
        for path in paths:
            found = list[str]()

            def hashed(part: str, found: list[str] = found) -> str:
                found.append(json.dumps(self._digest(said(part))))
                return found[-1]

            after = changed(text, path, hashed)
            if found:
                self._unseen.discard(spelled(path))
                text = after
        return None if text is before else text

    def _digest(self, text: str) -> str:
        data = text.encode("utf-8", "surrogateescape")
        return hmac.new(self._salt, data, sha256).hexdigest()[:_DIGITS]


def _header(name: str) -> str:
    found = header_of(name)
    if found is None:
        msg = f"--hash {name}: of metadata, {KEY} and $headers.NAME can be hashed"
        raise CannotHash(msg)
    return found


def _path(source: Source, name: str) -> Path:
    try:
        path = parse_path(name)
    except ValueError as error:
        msg = f"--hash {error}"
        raise CannotHash(msg) from None
    if not path:
        msg = "--hash names no field: give one, as --hash id"
        raise CannotHash(msg)
    for part in source.parts:
        if name == part.event_time.field:
            msg = f"--hash {name}: it is the event time, which every result depends on"
            raise CannotHash(msg)
        type_ = part.fields.get(name)
        if type_ is not None and type_.kind != "string":
            msg = (
                f"--hash {name}: it is {type_}, and its hash would be a text, which is a dead "
                "letter: hash fields of type string, or declare it so"
            )
            raise CannotHash(msg)
    known = {field for part in source.parts for field in part.fields}
    ignores = all(part.unknown_fields == "ignore" for part in source.parts)
    if name not in known and not ignores:
        msg = f"--hash {name}: the pipeline has no such field{meant(name, known)}"
        raise CannotHash(msg)
    return path
