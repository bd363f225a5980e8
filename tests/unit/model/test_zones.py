"""Zones of a file: which table is meant by a name, and what of it a run's own copy keeps."""

from __future__ import annotations

import pytest

from windowing.model import Pipeline, PipelineError, parse_pipeline
from windowing.model.file.changes import Change, Copy, as_written, changed
from windowing.model.file.versions import with_shards
from windowing.model.file.yaml_lines import load
from windowing.model.times import TextTimes
from windowing.model.zones import Zone, installed_zone

FILE = """
name: tide  # a comment
source:
  topic: ebb
  partitions: 1
  format: json
  event_time: {field: ts, unit: {text: "%Y-%m-%d %H:%M:%S", zone: Europe/Berlin}}
  fields: {v: int, t: timestamp}
  disorder: ordered
  control: all
queries:
  tens:
    window: RANGE 10 seconds SLIDE 10 seconds WATTR ts
    aggregates: {n: count, h: "max(extract(hour FROM t, 'Asia/Tokyo'))"}
"""


ADDED = {
    "window": "RANGE 1 day SLIDE 1 day WATTR ts ZONE Africa/Cairo",
    "aggregates": {"n": "count"},
    "from": 0,
}


def without_summer_time() -> Zone:
    """Berlin, as it would be if clocks were not put forward any more."""
    table = installed_zone("Europe/Berlin").table
    assert b"CET-1CEST,M3.5.0,M10.5.0/3" in table
    return Zone("Europe/Berlin", table.replace(b"CET-1CEST,M3.5.0,M10.5.0/3", b"CET-1"))


def zone_of_times(pipeline: Pipeline) -> Zone:
    unit = pipeline.source.event_time.unit
    assert isinstance(unit, TextTimes)
    return unit.zone


def test_a_file_goes_by_the_tables_that_it_has_and_else_by_those_installed() -> None:
    made_up, plain = without_summer_time(), parse_pipeline(FILE)
    assert {*plain.zones} == {"Asia/Tokyo", "Europe/Berlin"}
    assert zone_of_times(plain) == installed_zone("Europe/Berlin")
    kept = plain.keeping_zones({made_up.name: made_up})
    assert zone_of_times(kept) == made_up
    assert kept.zones["Asia/Tokyo"] == installed_zone("Asia/Tokyo")
    assert kept.fingerprint == plain.fingerprint, "a newer table makes no other pipeline"


def test_what_is_made_of_a_runs_file_keeps_its_tables() -> None:
    made_up = without_summer_time()
    kept = parse_pipeline(FILE).keeping_zones({made_up.name: made_up})
    assert kept.keeping_zones() is kept
    for again in (parse_pipeline(kept.text), with_shards(kept, 3), as_written(kept)):
        assert zone_of_times(again) == made_up


@pytest.mark.parametrize("file", [FILE, str(load(FILE)), f"{FILE}...\n", f"---\n{FILE}\n\n"])
def test_the_text_with_tables_is_the_document_with_tables(file: str) -> None:
    plain = parse_pipeline(file)
    kept = plain.keeping_zones()
    spelled = {name: zone.spelled for name, zone in plain.zones.items()}
    assert load(kept.text) == {**load(file), "zones": spelled}
    if file.endswith('"}\n'):
        assert kept.text.startswith(FILE.rstrip()), "its comments are there"


def test_a_file_without_zones_is_kept_as_it_is() -> None:
    plain = parse_pipeline(
        FILE.replace("zone: Europe/Berlin", "zone: UTC").replace(", 'Asia/Tokyo'", "")
    )
    assert plain.keeping_zones() is plain, "no table of UTC is ever another"


def test_a_query_that_the_log_adds_brings_the_table_of_its_zone() -> None:
    made_up = without_summer_time()
    kept = parse_pipeline(FILE).keeping_zones({made_up.name: made_up})
    after = changed(kept, Copy("ebb/0", 7, Change({"later": ADDED}, {})))
    assert isinstance(after, Pipeline)
    assert {*after.zone_tables} == {"Africa/Cairo", "Asia/Tokyo", "Europe/Berlin"}
    assert "Africa/Cairo" not in kept.zones
    again = parse_pipeline(after.text)
    assert again.zone_tables == after.zone_tables
    assert zone_of_times(again) == zone_of_times(after) == made_up


@pytest.mark.parametrize("table", [3, "no base64!", "QQ==", None])
def test_what_is_no_table_is_refused_at_its_line(table: object) -> None:
    file = f"{FILE}zones:\n  Europe/Berlin: {'null' if table is None else table}\n"
    with pytest.raises(PipelineError, match="is not the table of zone Europe/Berlin") as caught:
        parse_pipeline(file)
    (problem,) = caught.value.problems
    assert problem.line == file.count("\n") - 1


def test_no_half_of_a_table_is_one() -> None:
    spelled = installed_zone("Europe/Berlin").spelled
    with pytest.raises(PipelineError, match="is not the table of zone"):
        parse_pipeline(f"{FILE}zones: {{Europe/Berlin: {spelled[:100]}}}\n")
