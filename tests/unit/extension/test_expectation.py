"""An expectation of a package, judging what a run wrote, and its mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from chaos.quality import validate
from windowing.model import parse_pipeline
from windowing.model.errors import PipelineError
from windowing.model.registry import PLUGINS_VARIABLE

# Great Expectations imports what Python deprecates.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

TEXT = """
name: levels
source: {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us},
  fields: {level: int}, disorder: ordered}
queries:
  q: {window: RANGE 1 hour SLIDE 1 hour WATTR ts, aggregates: {n: count}}
quality:
  - {query: q, expect_no_window_to_be_silent: {slide: 3600}}
"""


def judged(hours: list[int], folder: Path) -> tuple[bool, str]:
    """What it says of windows that begin at these hours."""
    from chaos.quality.docs import Site
    from chaos.quality.evidence import Evidence
    from chaos.quality.suites import expectation

    pipeline = parse_pipeline(TEXT)
    [check] = validate(pipeline)
    made = expectation(pipeline, check, 0, Evidence({}, 0), "p.yml")
    starts = pd.to_datetime([hour * 3600 for hour in hours], unit="s", utc=True)
    frame = pd.DataFrame({"window_start": starts})
    found = Site(folder).judge(batch="final-q", frame=frame, expectations=[made], run="r1")
    return found[0]


def test_it_judges_window_outputs(tidepool: Path, tmp_path: Path) -> None:
    assert judged([3, 1, 2, 2], tmp_path) == (True, "0 silent windows")
    assert judged([3, 1, 5, 6], tmp_path) == (False, "2 silent windows")


def test_one_that_nobody_has_is_refused(tidepool: Path) -> None:
    text = TEXT.replace("to_be_silent", "to_be_silly")
    with pytest.raises(PipelineError, match=r"is no expectation .* did you mean expect_no_window_"):
        validate(parse_pipeline(text))


def test_a_name_that_is_not_the_classes_is_refused(
    tidepool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = {"expect_quiet": "tidepool.expectation:FrameExpectation"}
    monkeypatch.setenv(PLUGINS_VARIABLE, json.dumps({"expectations": other}))
    text = TEXT.replace("expect_no_window_to_be_silent", "expect_quiet")
    with pytest.raises(PipelineError, match=r"is no expectation: put @expectation"):
        validate(parse_pipeline(text))
