"""Accumulators against the definition and against oracles of others, in any grouping and order."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.strategies import HARD_FLOATS
from tests.strategies.columns import values
from windowing.engine.aggregates import Accumulators, StateSchema
from windowing.engine.aggregates.exact import (
    BIN_BITS,
    LOWEST,
    divided,
    join_halves,
    join_limbs,
    limbs_of_square,
    root,
    to_bins,
    to_halves,
    to_square_bins,
)
from windowing.engine.aggregates.sketches import bin_middles, bin_numbers, hashes
from windowing.engine.reading.decoders.decoder import dtype_of
from windowing.engine.tuning import tuned
from windowing.model.fields import parse_aggregate
from windowing.model.types import FieldType
from windowing.semantics.aggregates import NoValueError
from windowing.semantics.revisions import value_of
from windowing.semantics.units import Item, WindowRevision

FLOATS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(HARD_FLOATS), values("float")
).map(lambda value: value + 0.0)
INTS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3) | values("int")
TEXTS = st.sampled_from(["", "a", "b", "é", "😀", "\ufffd", "\u0000"]) | values("string")

FIELDS = {
    "x": FieldType("float", nullable=True),
    "v": FieldType("int", nullable=True),
    "s": FieldType("string", nullable=True),
    "m": FieldType("decimal", nullable=True, precision=18, scale=2),
    "w": FieldType("decimal", nullable=True, precision=38, scale=4),
    "b": FieldType("bool", nullable=True),
    "d": FieldType("date", nullable=True),
    "t": FieldType("timestamp", nullable=True),
}
_SQUARED = ("var({})", "stddev({})", "var_pop({})", "stddev_pop({})")
_OF_NUMBERS = (
    *("mean({})", *_SQUARED),
    *("median({})", "quantile({}, 0)", "quantile({}, 0.9)", "quantile({}, 33.3%)"),
    *("approx_quantile({}, 0.5)", "approx_quantile({}, 1, 10%)", "top_k({}, 1)", "top_k({}, 3)"),
)
_ORDERED = ("min({})", "max({})")
_OF_ANY = (
    *("count({})", "argmin({})", "argmax({})", "argmin({}, s)", "argmax({}, v)", "argmax(v, {})"),
    *("first({})", "last({})", "collect({})", "count_distinct({})"),
    *("approx_count_distinct({})", "approx_count_distinct({}, 16)"),
)
USER = "python:tests.unit.engine.user_classes:Span(v, s)"
POOL = [
    *(text.format(field) for text in _OF_NUMBERS for field in "xvm"),
    *(text.format("w") for text in _OF_NUMBERS if text not in _SQUARED),
    *(text.format(field) for text in _ORDERED for field in "xvsmwdt"),
    *(text.format(field) for text in _OF_ANY for field in FIELDS),
    *("count", "sum(x)", "sum(m)", "sum(w)", "any(b)", "all(b)", USER),
]


@dataclass(frozen=True)
class Record:
    """One record, and the group in which it is merged at each of two levels."""

    ts_us: int
    partition: int
    x: float | None
    v: int | None
    s: str | None
    inner: int
    outer: int
    m: Decimal | None = None
    w: Decimal | None = None
    b: bool | None = None
    d: str | None = None
    t: int | None = None


def _or_null(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(st.none(), values, values, values)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    """Numbers of so many digits: few, near to halves of a mean's last place, and the largest."""
    most = 10**precision - 1
    units = st.sampled_from([0, 1, -1, 2, 3, most, -most, most - 1, 2**31, -(2**32), 2**53])
    units |= st.integers(-most, most)
    return units.map(lambda unit: Decimal(f"{max(-most, min(most, unit))}E-{scale}"))


_FEW = st.sampled_from([0, 1, -1, 2**53, 2**53 + 1])
RECORDS = st.lists(
    st.builds(
        Record,
        ts_us=st.integers(0, 4),
        partition=st.integers(0, 11),
        x=_or_null(FLOATS | _FEW.map(float)),
        v=_or_null(INTS | _FEW),
        s=_or_null(TEXTS),
        m=_or_null(decimals(18, 2)),
        w=_or_null(decimals(38, 4)),
        b=_or_null(st.booleans()),
        d=_or_null(st.sampled_from(["0001-01-01", "2024-02-29", "2024-10-01", "9999-12-31"])),
        t=_or_null(st.sampled_from([-(10**15), -1, 0, 1, 2**60])),
        inner=st.integers(0, 3),
        outer=st.integers(0, 1),
    ),
    min_size=1,
    max_size=25,
)


def _frame(records: list[Record]) -> pl.DataFrame:
    """The records as a lane has them; the offset is the place in the list."""
    fields = [
        pl.Series(f"={name}", [getattr(r, name) for r in records], dtype=dtype_of(type_))
        for name, type_ in FIELDS.items()
    ]
    return pl.DataFrame(
        [
            pl.Series("ts_us", [record.ts_us for record in records], dtype=pl.Int64),
            pl.Series("partition", [record.partition for record in records], dtype=pl.Int32),
            pl.Series("offset", range(len(records)), dtype=pl.Int64),
            *fields,
        ]
    )


def _defined(texts: list[str], records: list[Record]) -> list[object]:
    """What the definition says of one window that holds these records."""
    items = [
        Item(r.ts_us, "s", r.partition, offset, 0, {name: getattr(r, name) for name in FIELDS})
        for offset, r in enumerate(records)
    ]
    holds = tuple(sorted(items, key=lambda item: item.canonical))
    shown = WindowRevision(0, 0, 10, None, (), 0, None, holds)
    return [_value(text, shown) for text in texts]


def _value(text: str, shown: WindowRevision) -> object:
    try:
        return value_of(parse_aggregate("a", text), FIELDS, shown)
    except NoValueError:
        return None


def _accumulators(texts: list[str]) -> Accumulators:
    aggregates = [parse_aggregate(f"a{n}", text) for n, text in enumerate(texts)]
    return Accumulators(aggregates, FIELDS, StateSchema.over(aggregates, FIELDS, "ts_us"))


def _merged(accumulators: Accumulators, records: list[Record], order: list[int]) -> pl.DataFrame:
    """Merge the records of each inner group, then those of each outer one, then all."""
    frame = _frame(records)
    groups = pl.DataFrame(
        {
            "inner": [record.inner for record in records],
            "outer": [record.outer for record in records],
            "all": [0] * len(records),
        }
    )
    lifted = groups.hstack(accumulators.lift(frame))
    parts = [
        accumulators.merge(lifted[start : start + 7], ["inner", "outer", "all"])
        for start in range(0, len(records), 7)
    ]
    merged = accumulators.concat([*parts[1:], parts[0]])
    merged = merged[sorted(range(len(merged)), key=lambda place: order[place % len(order)])]
    for by in (["inner", "outer", "all"], ["outer", "all"], ["all"]):
        merged = accumulators.merge(merged, by)
    return merged


def _orders(records: list[Record]) -> st.SearchStrategy[list[int]]:
    return st.permutations(range(max(len(records), 1)))


@given(st.data(), st.lists(st.sampled_from(POOL), min_size=1, max_size=4, unique=True), RECORDS)
def test_any_grouping_gives_what_the_definition_says(
    data: st.DataObject, texts: list[str], records: list[Record]
) -> None:
    accumulators = _accumulators(texts)
    merged = _merged(accumulators, records, data.draw(_orders(records)))
    found = [series.to_list()[0] for series in accumulators.results(merged)]
    assert list(map(repr, found)) == list(map(repr, _defined(texts, records)))


@given(st.lists(st.sampled_from(POOL), min_size=1, max_size=4, unique=True), RECORDS)
def test_every_state_has_results_of_its_own(texts: list[str], records: list[Record]) -> None:
    accumulators = _accumulators(texts)
    lifted = pl.DataFrame(accumulators.lift(_frame(records)))
    found = pl.DataFrame(accumulators.results(lifted)).rows()
    expected = [tuple(_defined(texts, [record])) for record in records]
    assert list(map(repr, found)) == list(map(repr, expected))


@given(st.data(), RECORDS)
def test_merged_states_are_the_same_bits_in_any_grouping(
    data: st.DataObject, records: list[Record]
) -> None:
    """What is kept, too, and not only what a row shows; users' classes promise the result only."""
    chosen = st.sampled_from([text for text in POOL if text != USER])
    texts = data.draw(st.lists(chosen, min_size=1, max_size=4, unique=True))
    accumulators = _accumulators(texts)
    one = _merged(accumulators, records, data.draw(_orders(records)))
    regrouped = data.draw(st.permutations(records).map(lambda rs: [(r.inner, r.outer) for r in rs]))
    others = [
        replace(r, inner=inner, outer=outer)
        for r, (inner, outer) in zip(records, regrouped, strict=True)
    ]
    other = _merged(accumulators, others, data.draw(_orders(records)))
    assert sorted(one.columns) == sorted(other.columns)
    assert one.equals(other.select(one.columns))


def test_every_aggregate_over_nothing_is_null() -> None:
    texts = [text for text in POOL if not text.startswith("count") or "distinct" in text]
    records = [Record(0, 0, None, None, None, 0, 0)] * 2
    accumulators = _accumulators(texts)
    merged = _merged(accumulators, records, [0])
    assert [series.to_list() for series in accumulators.results(merged)] == [[None]] * len(texts)
    assert _defined(texts, records) == [None] * len(texts)


@given(st.lists(FLOATS, max_size=30))
def test_bins_hold_sums_and_squares_exactly(values: list[float]) -> None:
    column = np.array(values, dtype=np.float64)
    for power, bins in ((1, to_bins(column)), (2, to_square_bins(column))):
        digits = {number: int(digits.sum()) for number, digits in bins.items()}
        total = sum(digit << (BIN_BITS * number) for number, digit in digits.items())
        exact = sum((Fraction(value) ** power for value in values), Fraction(0))
        assert Fraction(total, 1 << (-LOWEST * power)) == exact


BITS = st.sampled_from([16, 17, 31, 32, 40])
"""Widths of low halves."""


@given(
    st.lists(INTS | st.sampled_from([2**31 - 1, 2**31, -(2**31), -(2**31) - 1]), max_size=9), BITS
)
def test_halves_hold_integers_exactly(values: list[int], bits: int) -> None:
    with tuned(half_bits=bits):
        high, low = to_halves(np.array(values, dtype=np.int64))
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    assert all(least <= half <= most for half in low.tolist())
    joined = [(h << bits) + half for h, half in zip(high.tolist(), low.tolist(), strict=True)]
    assert joined == values
    assert all(h == 0 for h, v in zip(high.tolist(), values, strict=True) if least <= v <= most)


@given(st.lists(INTS, min_size=1, max_size=9), BITS, st.sampled_from([0, 32, 62]))
def test_sums_of_halves_are_exact(values: list[int], bits: int, whole: int) -> None:
    with tuned(half_bits=bits, whole_sum_bits=whole):
        sums = [half.sum(keepdims=True) for half in to_halves(np.array(values, dtype=np.int64))]
        assert [*map(int, join_halves(*sums))] == [sum(values)]


@given(st.lists(INTS, max_size=9), st.lists(INTS, max_size=9))
def test_halves_add_up_with_those_of_earlier_states(earlier: list[int], values: list[int]) -> None:
    """There the low half had no sign."""
    before, after = (np.array(column, dtype=np.int64) for column in (earlier, values))
    old, new = (before >> 32, before & np.int64(2**32 - 1)), to_halves(after)
    sums = [np.concatenate(halves).sum(keepdims=True) for halves in zip(old, new, strict=True)]
    assert join_limbs([*reversed(sums)]) == [sum(earlier) + sum(values)]
    assert [*map(int, join_halves(*sums))] == [sum(earlier) + sum(values)]


@given(st.lists(INTS, min_size=1, max_size=9))
def test_limbs_hold_squares_exactly(values: list[int]) -> None:
    limbs = limbs_of_square(np.array(values, dtype=np.int64))
    assert all(int(limb.min()) >= 0 and int(limb.max()) < 2**34 for limb in limbs)
    total = sum(int(limb.sum()) << (32 * i) for i, limb in enumerate(limbs))
    assert total == sum(value * value for value in values)


@given(st.lists(FLOATS | INTS, min_size=2, max_size=12))
def test_spread_agrees_with_the_library(values: list[float]) -> None:
    """Python's own statistics computes with fractions and rounds once, as we do."""
    texts = ["var(x)", "stddev(x)", "var_pop(x)", "stddev_pop(x)"]
    numbers = [float(value) for value in values]
    records = [Record(0, 0, number, None, None, 0, 0) for number in numbers]
    accumulators = _accumulators(texts)
    found = [s[0] for s in accumulators.results(_merged(accumulators, records, [0]))]
    oracles = (statistics.variance, statistics.stdev, statistics.pvariance, statistics.pstdev)
    for oracle, value in zip(oracles, found, strict=True):
        try:
            assert value == oracle(numbers)
        except OverflowError:
            assert value == math.inf


@given(st.integers(0, 2**200), st.integers(1, 2**200), st.integers(-2200, 2200))
@example(9, 4, 0)
@example((2**53 + 1) ** 2, 1, 0)  # the root lies half way between two doubles
@example((2**53 + 1) ** 2 + 1, 1, 0)
@example((2**54 + 3) ** 2 - 1, 1, -2300)
def test_a_root_is_the_nearest_double(numerator: int, denominator: int, power: int) -> None:
    numerator, denominator = numerator << max(power, 0), denominator << max(-power, 0)
    found, exact = root(numerator, denominator), Fraction(numerator, denominator)
    if found == math.inf:
        assert exact >= Fraction(2**1024 - 2**970) ** 2
        return
    # Nothing nearer: the root lies between the middles to both neighbours.
    below, above = math.nextafter(found, -1), math.nextafter(found, math.inf)
    half_down = max((Fraction(found) + Fraction(max(below, 0.0))) / 2, Fraction(0))
    assert half_down**2 <= exact
    if above != math.inf:
        assert exact <= ((Fraction(found) + Fraction(above)) / 2) ** 2


@pytest.mark.parametrize(("numerator", "rounded"), [(2**53 + 1, 2.0**53), (2**53 + 3, 2.0**53 + 4)])
def test_ties_go_to_even(numerator: int, rounded: float) -> None:
    assert divided(numerator, 1) == rounded
    assert root(numerator**2, 1) == rounded


@given(FLOATS, st.sampled_from([1, 2, 64, 4096]))
def test_no_value_is_far_from_the_middle_of_its_bin(value: float, per_octave: int) -> None:
    numbers = bin_numbers(np.array([value]), per_octave)
    middle = float(bin_middles(numbers, per_octave)[0])
    # Below the normal doubles a middle has to be rounded to one of the few that there are.
    allowed = Fraction(1, 2 * per_octave) * abs(Fraction(value)) + Fraction(1, 2**1075)
    assert abs(Fraction(middle) - Fraction(value)) <= allowed
    assert bin_numbers(np.array([-value]), per_octave)[0] == -numbers[0]


@given(st.lists(FLOATS, min_size=1, max_size=40), st.sampled_from(["0", "0.5", "0.99", "1"]))
def test_an_approximate_quantile_is_as_near_as_it_says(values: list[float], share: str) -> None:
    texts = [f"quantile(x, {share})", f"approx_quantile(x, {share})"]
    records = [Record(0, 0, value, None, None, 0, 0) for value in values]
    accumulators = _accumulators(texts)
    exact, near = (s[0] for s in accumulators.results(_merged(accumulators, records, [0])))
    rank = max(math.ceil(Fraction(share) * len(values)), 1)
    assert exact == sorted(values)[rank - 1]
    assert abs(Fraction(near) - Fraction(exact)) <= abs(Fraction(exact)) / 100 + Fraction(
        1, 2**1075
    )


def test_distinct_values_are_estimated_well() -> None:
    """With k hashes the relative standard error is 1 / sqrt(k - 2): 3.1 % for 1024."""
    for size, count in ((1024, 100_000), (64, 3_000)):
        smallest = sorted(hashes(pl.Series(range(count), dtype=pl.Int64)).to_list())[:size]
        estimate = (size - 1) * 2**64 // smallest[-1]
        assert abs(estimate - count) < 4 * count / math.sqrt(size - 2)


def test_hashes_never_change() -> None:
    """A checkpoint outlives versions: the hash of a value never changes."""
    ints = [0x5199C35D28EFDAB8, None, 0xD000813159F16F3D]
    assert hashes(pl.Series([1, None, -(2**63)])).to_list() == ints
    assert hashes(pl.Series([1.0])).to_list() == [0xF161E041A2184EE8]
    assert hashes(pl.Series(["é", ""])).to_list() == [0xCB1ABF8BEFF3192F, 0xE4A6A0577479B2B4]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused(value: float) -> None:
    record = Record(0, 0, value, None, None, 0, 0)
    with pytest.raises(ValueError, match="not finite"):
        _accumulators(["sum(x)"]).lift(_frame([record]))


@given(st.lists(INTS, min_size=1, max_size=9))
def test_integers_merge_without_overflow_on_the_way(values: list[int]) -> None:
    records = [Record(0, 0, None, value, None, n % 3, n % 2) for n, value in enumerate(values)]
    accumulators = _accumulators(["sum(v)"])
    merged, total = _merged(accumulators, records, [0]), sum(values)
    if -(2**63) <= total < 2**63:
        assert accumulators.results(merged)[0].to_list() == [total]
        return
    results = accumulators.results(merged)
    assert results[0].to_list() == [None]
    assert accumulators.overflow(merged, results).to_list() == [[results[0].name]]
