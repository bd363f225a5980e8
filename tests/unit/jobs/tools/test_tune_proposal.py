"""What tuning proposes: the knee of its own curve, and times that people say."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from jobs.tools.knee import knee_of
from jobs.tools.recording import record, write_events
from jobs.tools.times_in_words import in_words, round_up
from jobs.tools.tune import tune
from jobs.tools.tune_plot import picture
from slackwater.main import app
from tests.strategies import Entry, entry
from windowing.model import Pipeline, parse_pipeline
from windowing.model.lengths import spell_us

MINUTELY = """\
name: minutely
source:
  {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us}, fields: {},
   disorder: ordered}
queries:
  q: {window: RANGE 1 minute SLIDE 1 minute WATTR ts, aggregates: {n: count}}
"""


def minutely() -> Pipeline:
    return parse_pipeline(MINUTELY)


def disordered(pipeline: Pipeline, lags_us: Iterable[int], step_us: int) -> list[Entry]:
    """A log of one lane: a record every step, each with a lag behind the newest."""
    field, now_us = pipeline.source.event_time, 10**12
    unit = {"us": 1, "ms": 1_000, "s": 1_000_000}[field.unit]
    values = {f: 1 if t.kind == "int" else "x" for f, t in pipeline.source.fields.items()}
    log = []
    for offset, lag_us in enumerate(lags_us):
        now_us += step_us
        ts = (now_us - lag_us) // unit
        place = {"source": pipeline.source.topic, "partition": 0, "offset": offset}
        log.append(entry({**place, "value": {**values, field.field: ts}}))
    return log


def known_knee(count: int = 20_000) -> Iterator[int]:
    """Of twenty records one is up to a minute behind, of a hundred one up to 14 hours."""
    rng = random.Random(1)
    for number in range(count):
        if number % 100 == 7:
            yield rng.randrange(52_000) * 1_000_000
        else:
            yield rng.randrange(60) * 1_000_000 if number % 20 == 3 else 0


def test_the_proposal_does_not_jump_over_the_knee() -> None:
    """It was 52000 s, for the last tenths of a per cent, where a minute leaves one per cent."""
    pipeline = minutely()
    log = disordered(pipeline, known_knee(), 1_000_000)
    found = tune(pipeline, record(pipeline, log), Fraction(1, 1000))
    assert found.knee_us is not None
    assert 30_000_000 <= found.knee_us <= 60_000_000
    assert found.slack_us > 500 * found.knee_us
    knee = found.cost_of("time", found.knee_us)
    assert knee.late == pytest.approx(0.01, abs=0.002)
    assert found.knee_rows is not None
    assert found.cost_of("rows", found.knee_rows).late < 0.02


def test_a_curve_that_falls_alike_everywhere_has_no_knee() -> None:
    pipeline = minutely()
    even = disordered(
        pipeline, ((number * 7_919 % 600) * 1_000_000 for number in range(9_000)), 10**6
    )
    found = tune(pipeline, record(pipeline, even), Fraction(1, 1000))
    assert (found.knee_us, found.knee_rows) == (None, None)
    in_order = disordered(pipeline, [0] * 500, 1_000_000)
    assert tune(pipeline, record(pipeline, in_order), Fraction(1, 1000)).knee_us is None


def test_the_command_proposes_the_knee_unless_a_share_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "p.yml").write_text(MINUTELY)
    pipeline = minutely()
    write_events(tmp_path / "e.jsonl", disordered(pipeline, known_knee(6_000), 1_000_000))
    command = ["tune", str(tmp_path / "p.yml"), "--input", str(tmp_path / "e.jsonl")]
    output = CliRunner().invoke(app, [*command, "--png", str(tmp_path / "t.png")]).output
    proposals = re.findall(r"disorder: \{slack: (\d+ \w+)\}", output)
    assert proposals[0].endswith(" s")
    assert " h" in proposals[-2]
    assert re.search(
        r"it leaves [01]\.\d+% late; \d+ h( \d+ min)? more would leave 0\.\d+%", output
    )
    assert "000 s" not in output
    asked = CliRunner().invoke(app, [*command, "--late", "0.1%"]).output
    assert re.findall(r"disorder: \{slack: (\d+ \w+)\}", asked)[0] == proposals[-2]
    assert "the knee of the curve" in asked


def test_the_picture_marks_what_is_proposed(tmp_path: Path) -> None:
    pipeline = minutely()
    found = tune(
        pipeline,
        record(pipeline, disordered(pipeline, known_knee(3_000), 1_000_000)),
        Fraction(1, 1000),
    )
    figure = picture(found, "p")
    marked = {
        line.get_label(): (line.get_xdata()[0], line.get_ydata()[0])
        for line in figure.axes[1].lines
        if line.get_marker() == "D"
    }
    assert found.knee_us is not None
    for label, slack_us in (("knee", found.knee_us), ("0.1% late", found.slack_us)):
        cost = found.cost_of("time", slack_us)
        assert cost.latency_us is not None
        assert marked[label] == pytest.approx((cost.latency_us / 1e6, 100 * cost.late))


def test_a_curve_is_needed_for_a_knee() -> None:
    assert knee_of([0, 5], [0.5, 0.1]) is None
    assert knee_of([0, 1, 100], [0.5, 0.02, 0.01]) == 1
    assert knee_of([0, 50, 100], [0.4, 0.2, 0.1]) is None
    assert knee_of([0, 1, 2], [0.1, 0.1, 0.1]) is None


@given(st.integers(0, 10**13))
def test_a_readable_length_is_one_word_and_hardly_more(us: int) -> None:
    rounded = round_up(us)
    assert us <= rounded <= us * 1.1 + 1
    digits = spell_us(rounded).split()[0].rstrip("0")
    assert len(digits) <= 3


@pytest.mark.parametrize(
    ("us", "words"),
    [
        (0, "0 us"),
        (999, "999 us"),
        (1_500, "1.5 ms"),
        (59_000_000, "59 s"),
        (60_000_000, "1 min"),
        (3_599_999_999, "1 h"),
        (51_960_000_000, "14 h 26 min"),
        (86_400_000_000, "1 d"),
        (-90_000_000, "-1 min 30 s"),
    ],
)
def test_times_are_said_in_words(us: int, words: str) -> None:
    assert in_words(us) == words
