"""Spools: nothing is lost between memory and files."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from chaos.verdict.spool import Shelf, Spool


@given(
    values=st.lists(st.tuples(st.integers(0, 3), st.text(max_size=3))), values_max=st.integers(1, 9)
)
def test_spools_keep_every_value_in_order(values: list[tuple[int, str]], values_max: int) -> None:
    with Shelf(values_max) as shelf:
        spools = [Spool[str](shelf) for _ in range(4)]
        for number, text in values:
            spools[number].append(text)
        for number, spool in enumerate(spools):
            assert list(spool) == [text for own, text in values if own == number]
            assert len(spool) == len(list(spool))


@given(count=st.integers(0, 40), values_max=st.integers(1, 9))
def test_a_spool_is_divided_while_its_end_is_written(count: int, values_max: int) -> None:
    with Shelf(values_max) as shelf:
        whole, parts = Spool[int](shelf), [Spool[int](shelf) for _ in range(3)]
        for number in range(count):
            whole.append(number)
        for number in whole:
            parts[number % 3].append(number)
        for at, part in enumerate(parts):
            assert list(part) == list(range(at, count, 3))


def test_files_are_gone_afterwards(tmp_path: Path) -> None:
    with Shelf(2, tmp_path) as shelf:
        spool, dropped = Spool[int](shelf), Spool[int](shelf)
        for number in range(10):
            spool.append(number)
            dropped.append(number)
        assert len(list(tmp_path.glob("*/*"))) == 2
        dropped.drop()
        assert not list(dropped)
        assert len(list(tmp_path.glob("*/*"))) == 1
    assert not list(tmp_path.iterdir())
