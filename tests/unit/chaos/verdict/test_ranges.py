"""A log verified range by range gets the verdict that it gets as a whole."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.readers.output import Line, Output, output_of
from chaos.simulator.draw.wish import JOIN, POLICY_JOIN
from chaos.verdict.in_parts import Means
from chaos.verdict.point import PointError, read_point
from chaos.verdict.ranges import offsets_at, point_before
from chaos.verdict.verify import verify, with_records
from tests.strategies import KINDS, OPERATORS, Case, Entry, cases, entry, join_cases
from windowing.model import Pipeline, parse_pipeline
from windowing.semantics import evaluate

LITTLE = Means(memory_bytes=1)
ANY = st.one_of(
    st.sampled_from((*KINDS, OPERATORS)).flatmap(lambda kind: cases(kind=kind, records_max=80)),
    st.sampled_from((JOIN, POLICY_JOIN)).flatmap(lambda kind: join_cases(kind=kind)),
)
SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=3).map(sorted)
DEFECTS = ("lost", "twice", "changed", "invented")


def output(pipeline: Pipeline, log: Sequence[Entry]) -> Output:
    """Return what a run has written that has read this much."""
    found = evaluate(pipeline, log)
    return output_of(found.rows, found.dead, "output")


def spoilt(line: Line, defect: str) -> list[Line]:
    """Return a line with a defect, as it is found."""
    identity, text = line
    changed = {**json.loads(text), "records": 99}
    invented = {**json.loads(text), "revision": 77}
    return {
        "lost": [],
        "twice": [line, line],
        "changed": [(identity, json.dumps(changed))],
        "invented": [line, ((*identity[:4], "77", *identity[5:]), json.dumps(invented))],
    }[defect]


def lengths(log: Sequence[Entry], shares: Sequence[float]) -> list[int]:
    """Return where ranges end; the last one ends with the log."""
    return [*(round(share * len(log)) for share in shares), len(log)]


def first_offsets(pipeline: Pipeline, log: Sequence[Entry], length: int) -> dict[int, int]:
    """Return where a range begins after a number of entries."""
    first: dict[int, int] = {}
    for one in log[:length]:
        number = pipeline.source.number(one.source, one.partition)
        assert number is not None
        first[number] = max(first.get(number, 0), one.offset + 1)
    return first


@given(case=ANY, shares=SHARES)
def test_ranges_together_are_the_whole(case: Case, shares: list[float]) -> None:
    pipeline, log = parse_pipeline(case.pipeline), [entry(event) for event in case.events]
    whole, judged = verify(pipeline, log, output(pipeline, log)), 0
    with TemporaryDirectory() as folder:
        since, file = None, Path(folder) / "point.jsonl"
        for end in lengths(log, shares):
            known = output(pipeline, log[:end])
            verdict = verify(pipeline, log[:end], known, LITTLE, since=since, keep=file)
            assert verdict.ok, verdict.lines()
            judged += verdict.rows.expected + verdict.dead.expected
            since = read_point(file)
        assert verdict.conservation == whole.conservation
        assert judged == whole.rows.expected + whole.dead.expected


@given(case=ANY, shares=SHARES, defect=st.sampled_from(DEFECTS), at=st.integers(0, 1000))
def test_a_difference_is_found_by_its_own_range(
    case: Case, shares: list[float], defect: str, at: int
) -> None:
    pipeline, log = parse_pipeline(case.pipeline), [entry(event) for event in case.events]
    ends = lengths(log, shares)
    lines = [list(output(pipeline, log[:end]).rows) for end in ends]
    new = [
        (number, line)
        for number, found in enumerate(lines)
        for line in found
        if number == 0 or line not in lines[number - 1]
    ]
    if not new:
        return
    wrong, line = new[at % len(new)]
    with TemporaryDirectory() as folder:
        since, file = None, Path(folder) / "point.jsonl"
        for number, end in enumerate(ends[: wrong + 1]):
            found = output(pipeline, log[:end])
            if number == wrong:
                rows = [one for one in found.rows if one != line]
                found = replace(found, rows=[*rows, *spoilt(line, defect)])
            verdict = verify(pipeline, log[:end], found, LITTLE, since=since, keep=file)
            assert verdict.ok == (number < wrong)
            if number < wrong:
                since = read_point(file)
        assert with_records(verdict, pipeline, log[:end], LITTLE, since).rows == verdict.rows
        start = ends[wrong - 1] if wrong else 0
        given_first = first_offsets(pipeline, log[: ends[wrong]], start)
        point = point_before(pipeline, log[: ends[wrong]], given_first, file, LITTLE)
        again = verify(pipeline, log[: ends[wrong]], found, LITTLE, since=point)
        assert again.rows == verdict.rows


@given(case=ANY, share=st.floats(0, 1), at=st.integers(0, 1000), lost=st.booleans())
def test_a_change_before_the_range_is_noticed(
    case: Case, share: float, at: int, lost: bool
) -> None:
    pipeline, log = parse_pipeline(case.pipeline), [entry(event) for event in case.events]
    start = round(share * len(log))
    earlier = list(output(pipeline, log[:start]).rows)
    if not earlier:
        return
    line = earlier[at % len(earlier)]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "point.jsonl"
        verify(pipeline, log[:start], output(pipeline, log[:start]), keep=file)
        whole = output(pipeline, log)
        rows = [one for one in whole.rows if one != line] if lost else [*whole.rows, line]
        verdict = verify(pipeline, log, replace(whole, rows=rows), since=read_point(file))
        assert not verdict.ok
        assert "rows before the range are not those that were verified" in verdict.disorder[0]
        assert not verdict.rows.differences


PIPELINE = parse_pipeline("""
name: p
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {k: int}
  disorder: {slack: 5 us}
queries:
  all:
    window: RANGE 20 us SLIDE 20 us WATTR ts
    group_by: [k]
    aggregates: {n: count}
""")


def log_of(count: int) -> list[Entry]:
    return [
        Entry("s", at % 2, at // 2, json.dumps({"ts": at, "k": at % 7}).encode(), None, None)
        for at in range(count)
    ]


def point_after(count: int, file: Path) -> None:
    log = log_of(count)
    assert verify(PIPELINE, log, output(PIPELINE, log), keep=file).ok


@pytest.mark.parametrize(
    "window",
    [
        "RANGE 20 us SLIDE 20 us WATTR ts",
        "RANGE 60 us SLIDE 20 us WATTR ts",
        "SESSION 5 us WATTR ts",
    ],
)
@pytest.mark.parametrize("late", ["{policy: drop}", "{policy: update, every: 10 us}"])
def test_a_point_keeps_the_records_of_open_windows_only(
    tmp_path: Path, window: str, late: str
) -> None:
    text = PIPELINE.text.replace("RANGE 20 us SLIDE 20 us WATTR ts", window)
    pipeline = parse_pipeline(f"{text}\nlate: {late}\nretention: 30 us\n")
    sizes = []
    for count in (200, 2000):
        log, file = log_of(count), tmp_path / "point"
        assert verify(pipeline, log, output(pipeline, log), keep=file).ok
        sizes.append(len(list(read_point(file).kept())))
    assert 0 < sizes[1] <= sizes[0] + 20


def test_the_lane_s_part_before_the_point_need_not_be_read(tmp_path: Path) -> None:
    point_after(1000, tmp_path / "point")
    log = log_of(1200)
    verdict = verify(
        PIPELINE, log[998:], output(PIPELINE, log), since=read_point(tmp_path / "point")
    )
    assert verdict.ok, verdict.lines()
    assert verdict.conservation[0].read == 1200


@pytest.mark.parametrize(
    "log",
    [log_of(1200)[999:], log_of(1200)[1000:], log_of(900), [*log_of(998), *log_of(1200)[1000:]]],
    ids=["one lane cut", "both cut", "shorter", "compacted"],
)
def test_another_log_is_refused(tmp_path: Path, log: list[Entry]) -> None:
    point_after(1000, tmp_path / "point")
    with pytest.raises(PointError, match=r"s/\d no longer has the record at offset 499"):
        verify(PIPELINE, log, output(PIPELINE, []), since=read_point(tmp_path / "point"))


def test_a_rewritten_log_is_refused(tmp_path: Path) -> None:
    point_after(1000, tmp_path / "point")
    log = [one if one.offset != 499 else replace(one, value=b"{}") for one in log_of(1200)]
    with pytest.raises(PointError, match="was compacted, cut off or written anew"):
        verify(PIPELINE, log, output(PIPELINE, log), since=read_point(tmp_path / "point"))


def test_another_pipeline_is_refused(tmp_path: Path) -> None:
    point_after(100, tmp_path / "point")
    other = parse_pipeline(PIPELINE.text.replace("RANGE 20 us SLIDE 20", "RANGE 30 us SLIDE 30"))
    with pytest.raises(PointError, match="pipeline p has changed since its last verification"):
        read_point(tmp_path / "point").check(other)


@pytest.mark.parametrize("text", ["", "{", "[]\n", '{"format": 1}\n', '{"format": 99}\n'])
def test_a_damaged_point_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "point"
    file.write_text(text)
    with pytest.raises(PointError, match="verify without --since"):
        read_point(file)


def test_a_failed_verification_keeps_no_point(tmp_path: Path) -> None:
    log = log_of(100)
    right = output(PIPELINE, log)
    wrong = replace(right, rows=list(right.rows)[1:])
    assert not verify(PIPELINE, log, wrong, keep=tmp_path / "point").ok
    assert not (tmp_path / "point").exists()


def test_an_instant_is_a_place_in_every_lane(tmp_path: Path) -> None:
    log = log_of(400)
    first = offsets_at(PIPELINE, log, 199)
    # A record at t takes its lane's progress to t - 5.
    assert first == {0: 103, 1: 102}
    point = point_before(PIPELINE, log, first, tmp_path / "point")
    verdict = verify(PIPELINE, log, output(PIPELINE, log), since=point)
    assert verdict.ok, verdict.lines()
    ends = [json.loads(line)["window_end"] for _, line in output(PIPELINE, log).rows]
    assert verdict.rows.expected == sum(end > 199 for end in ends)


def test_a_range_begins_within_the_log(tmp_path: Path) -> None:
    with pytest.raises(PointError, match="s/1 ends at offset 49, before offset 500"):
        point_before(PIPELINE, log_of(100), {1: 500}, tmp_path / "point")
