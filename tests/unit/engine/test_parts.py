"""Each class of windows is known everywhere, and its parts can what its traits promise."""

import pytest

from windowing.engine.windows.classes import PARTS, parts_of
from windowing.engine.windows.part import MovesOpenWindows, ShowsOpenWindows
from windowing.model.file.pipeline import parse_pipeline
from windowing.model.windows import registry
from windowing.model.windows.parsing import CLASSES
from windowing.semantics.windows.classes import DEFINITIONS, definition_of
from windowing.semantics.windows.definition import ExtentDefinition

WINDOWS = [
    "RANGE 2 s SLIDE 1 s WATTR ts",
    "RANGE LANDMARK SLIDE 1 s WATTR ts",
    "RANGE 3 rows SLIDE 1 row WATTR row_num ORDER log",
    "RANGE LANDMARK SLIDE 1 row WATTR row_num ORDER log",
    "RANGE 3 rows SLIDE 1 row WATTR row_num ORDER event_time",
    "RANGE LANDMARK SLIDE 1 row WATTR row_num ORDER event_time",
    "RANGE 5 s SLIDE 1 row RATTR ts SATTR row_num",
    "RANGE 5 s SLIDE 2 rows RATTR ts SATTR row_num",
    "RANGE 5 s SLIDE 2 rows RATTR ts SATTR rank(ts)",
    "SESSION 5 s WATTR ts",
    "SESSION 5 rows WATTR row_num",
]


def test_engine_and_definition_know_every_class() -> None:
    assert {*PARTS} == {*DEFINITIONS} == {*registry.WINDOWS} == {one.kind for one in CLASSES}


@pytest.mark.parametrize("text", WINDOWS)
def test_parts_can_what_traits_promise(text: str) -> None:
    pipeline = parse_pipeline(
        f"""
name: p
source: {{topic: t, partitions: 1, format: json, event_time: {{field: ts, unit: s}},
  fields: {{k: string}}, disorder: {{slack: 20 s}}}}
queries: {{q: {{window: {text}, aggregates: {{n: count}}}}}}
"""
    )
    (query,) = pipeline.flows
    traits = query.window.traits
    part = parts_of(query.window).shard(query, pipeline)
    assert isinstance(part, ShowsOpenWindows) or not traits.shows_early
    assert isinstance(part, MovesOpenWindows) == traits.merging
    assert isinstance(definition_of(query), ExtentDefinition) == (
        traits.on_grid or traits.at_records
    )
