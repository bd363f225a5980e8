"""Hashed fields: nothing of their values is left, equal ones stay equal, all else is as it was."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.readers.hashed import CannotHash, Hashing
from chaos.readers.log import LogRecord
from chaos.readers.value_parts import NoJson, changed, part_of
from tests.unit.chaos.test_plain_rows import source
from windowing.model.control import sealed
from windowing.model.metadata import Metadata
from windowing.model.paths import parse_path

SOURCE = source(fields="{id: string, i: int, s: string}")


def hashed(*values: bytes, fields: tuple[str, ...] = ("id",), salt: str = "pepper") -> list[bytes]:
    log = (LogRecord("t", 0, at, value, None, None) for at, value in enumerate(values))
    return [one.value or b"" for one in Hashing(SOURCE, fields, salt).of(log)]


def test_equal_values_have_equal_texts_in_all_fields() -> None:
    first, second, third = hashed(
        b'{"id":"anna","s":"\\u0061nna","i":1.50}',
        b'{"i": 1, "id": "bert"}',
        b'{"i": 1, "id": null}',
        fields=("id", "s"),
    )
    found = json.loads(first)
    assert found["id"] == found["s"] != json.loads(second)["id"]
    assert len(found["id"]) == 16
    assert b'"i":1.50' in first
    assert third == b'{"i": 1, "id": null}'
    assert json.loads(hashed(first, salt="salt")[0])["id"] != found["id"]


SECRETS = st.text(st.characters(codec="ascii", categories=["Lu"]), min_size=6, max_size=9)


@given(
    SECRETS, st.sampled_from(['{"id": %s}', "%s", "[%s]", '{"id": [%s]}', '{"id": %s, "id": 1}'])
)
def test_no_value_is_left(secret: str, form: str) -> None:
    (found,) = hashed((form % json.dumps(secret)).encode())
    in_field = form.startswith('{"id"')
    assert (secret.encode() not in found) or not in_field
    (broken,) = hashed(f'{{"id": "{secret}'.encode())
    assert secret.encode() not in broken


def test_the_key_is_hashed_and_headers_that_are_named() -> None:
    metadata = Metadata(b"anna", 5, (("user", b"anna"), ("type", b"order"), ("none", None)))
    record = LogRecord("t", 0, 0, b'{"id": "anna"}', None, None, metadata)
    (found,) = Hashing(SOURCE, ["id", "$headers.user", "$key"], "pepper").of([record])
    name = json.loads(found.value or b"")["id"].encode()
    assert found.metadata == Metadata(name, 5, (("user", name), ("type", b"order"), ("none", None)))


def test_a_misspelled_field_leaves_no_file_of_bare_values() -> None:
    """Where unknown fields are ignored, nobody else would notice."""
    ignoring = SOURCE.model_copy(update={"unknown_fields": "ignore"})
    log = [LogRecord("t", 0, 0, b'{"user": "anna"}', None, None)]
    (found,) = Hashing(ignoring, ["user", "id"], "pepper").of(log)
    assert b"anna" not in (found.value or b"")
    with pytest.raises(CannotHash, match="usre: no record has it"):
        list(Hashing(ignoring, ["usre"], "pepper").of(log))


def test_a_control_record_is_on_the_hashed_key() -> None:
    hashing = Hashing(SOURCE, ["id"], "pepper")
    on, other, signed = (
        b'{"bound": 5, "on": {"id": "anna"}}',
        b'{"bound": 5}',
        sealed(b'{"bound": 5, "on": {"id": "anna"}}', b"00", b"1"),
    )
    value = LogRecord("t", 0, 0, b'{"id": "anna"}', None, None)
    log = [value, *(LogRecord("t", 0, n, None, c, None) for n, c in enumerate((on, other), 1))]
    found = [*hashing.of(log)]
    name = json.loads(found[0].value or b"")["id"]
    assert json.loads(found[1].control or b"") == {"bound": 5, "on": {"id": name}}
    assert found[2].control == other
    with pytest.raises(CannotHash, match="is signed"):
        list(hashing.of([LogRecord("t", 0, 3, None, signed, None)]))


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("i", "it is int"),
        ("ts", "it is the event time"),
        ("ib", "has no such field"),
        ("id.", "is not a path"),
        ("", "names no field"),
        ("$offset", "of metadata"),
    ],
)
def test_what_cannot_be_hashed_is_refused(field: str, said: str) -> None:
    with pytest.raises(CannotHash, match=said):
        Hashing(SOURCE, [field], "pepper")
    with pytest.raises(CannotHash, match="needs a salt"):
        Hashing(SOURCE, ["id"], "")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('ab"\\é', max_size=3),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text("ab.", max_size=2), part),
    max_leaves=6,
)
PATHS = st.lists(st.text("ab.", max_size=2) | st.integers(0, 2), min_size=1, max_size=3)


@given(JSON, PATHS, st.integers(0, 1))
def test_parts_are_where_their_paths_lead(value: Any, path: list[str | int], indent: int) -> None:
    text, steps = json.dumps(value, indent=indent or None), tuple(path)
    there, astray = value, False
    for step in path:
        if isinstance(there, dict) and isinstance(step, str):
            there = there.get(step)
        elif isinstance(there, list) and isinstance(step, int):
            there = there[step] if step < len(there) else None
        elif there is not None:
            astray = True
            break
    found = part_of(text, steps)
    if there is None or astray:
        assert found is None
    else:
        assert found is not None
        assert (found if isinstance(there, str) else json.loads(found)) == there
    after = changed(text, steps, lambda _: '"changed"')
    assert json.loads(after) == value if there is None else '"changed"' in after
    assert json.loads(changed(text, steps, str, str)) == value


def test_what_is_no_json_has_no_parts() -> None:
    for text in ('{"a": 1', '{"a": 1, "a": 2}', "nix", "[1,]"):
        with pytest.raises(NoJson):
            changed(text, parse_path("a"), str)
        assert part_of(text, ("a",)) is None
