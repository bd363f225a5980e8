"""Paths into records: what is written is what is spelled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windowing.model.paths import parse_path, spelled

STEPS = st.one_of(st.text(min_size=1), st.integers(0, 999_999_999))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a", ("a",)),
        ("card.country", ("card", "country")),
        ("items[0].sku", ("items", 0, "sku")),
        ('"a.b".c', ("a.b", "c")),
        ('a."b""c"[3][4]', ("a", 'b"c', 3, 4)),
        ("two words", ("two words",)),
    ],
)
def test_spellings(text: str, path: tuple[str | int, ...]) -> None:
    assert parse_path(text) == path
    assert spelled(path) == text


@given(st.text(min_size=1), st.lists(STEPS, max_size=4))
def test_every_path_has_a_spelling(first: str, more: list[str | int]) -> None:
    path = (first, *more)
    assert parse_path(spelled(path)) == path


@pytest.mark.parametrize("text", [".a", "a..b", "a.", "[0]", "a[", "a]b", '"a', "a[x]", "a[-1]"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a path"):
        parse_path(text)
