"""A sink takes the batch that comes next or passes over the same one; anything else is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windowing.model.run_errors import TokenMismatch
from windowing.runtime.token import Stretch, Token, admit, due
from windowing.spark.sinks.tokens import token_rows, tokens_of

PLACE = "the tables"


def token(batch: int, first: int, last: int, topic_id: str = "u1") -> Token:
    return Token(batch, {"t/0": Stretch(first, last), "t/1": Stretch(0, -1)}, {"t": topic_id}, "f")


HELD = {0: token(0, 0, 9), 1: token(1, 10, 19)}


def test_what_comes_next_and_what_is_there_are_admitted() -> None:
    admit(token(0, 0, 9), {}, PLACE)
    admit(token(2, 20, 29), HELD, PLACE)
    for same in HELD.values():
        admit(same, HELD, PLACE)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (token(1, 10, 24), r"holds batch 1 .*t/0: 10 to 19.* has planned batch 1 .*10 to 24"),
        (token(0, 0, 4), r"batch 0 .*0 to 9.*planned batch 0 .*0 to 4"),
        (token(3, 20, 29), r"ends with batch 1 .*brings batch 3 .*missing"),
        (token(2, 15, 29), r"brings batch 2 .*begins before it in t/0"),
        (token(2, 20, 29, "u2"), r"topic t was deleted and made again: .* u1, .* u2"),
    ],
)
def test_what_does_not_follow_is_refused_with_both_sides(other: Token, said: str) -> None:
    with pytest.raises(TokenMismatch, match=f"{said}.*start a new run"):
        admit(other, HELD, PLACE)


def test_a_batch_before_the_known_ones_does_not_come_again() -> None:
    with pytest.raises(TokenMismatch, match=r"ends with batch 6 .*brings batch 5"):
        admit(token(5, 50, 59), {6: token(6, 60, 69)}, PLACE)


def test_what_a_table_does_with_a_batch() -> None:
    now, before = HELD[1], HELD[0]
    assert due(now, "q", 0, before.digest, 0) == "write"
    assert due(now, "q", 1, now.digest, 0) == "pass"
    assert due(before, "q", 1, now.digest, 0) == "pass"
    assert due(now, "q", None, None, 1) == "write"  # the first batch with a token
    for written, digest, said in (
        (None, None, "q has no batch of it"),
        (1, before.digest, "q holds another batch 1"),
    ):
        with pytest.raises(TokenMismatch, match=said):
            due(now, "q", written, digest, 0)
    with pytest.raises(TokenMismatch, match=r"q has batches up to 0, and .*batch 2"):
        due(token(2, 20, 29), "q", 0, before.digest, 0)


stretches = st.builds(
    lambda first, count: Stretch(first, first + count - 1),
    st.integers(0, 2**62),
    st.integers(0, 2**61),
)
lanes = st.dictionaries(st.sampled_from(["a/0", "a/1", "b.c-d/0"]), stretches)


@given(st.integers(0, 2**40), lanes, st.booleans())
def test_a_token_survives_its_rows(batch: int, parts: dict[str, Stretch], ids: bool) -> None:
    topics = {lane.rpartition("/")[0]: "uuid" for lane in parts} if ids else {}
    given_ = Token(batch, parts, topics, "f")
    found = tokens_of(token_rows("r1", given_).to_pylist())
    assert found == {batch: given_}
    assert 0 <= given_.digest < 2**63


@given(lanes, lanes, st.integers(0, 3), st.integers(0, 3))
def test_tokens_are_the_same_only_if_they_hold_the_same(
    one: dict[str, Stretch], two: dict[str, Stretch], first: int, second: int
) -> None:
    same = Token(first, one).same(Token(second, two))
    assert same == (one == two and first == second)
    assert not Token(first, one, {"a": "x"}).same(Token(first, one, {"a": "y"}))
