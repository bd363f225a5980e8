"""Recorded checkpoints open, whatever the code has become, and continue to the same bytes."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
import yaml

from tests.sampling import sampled
from tests.unit.checkpoints.layouts import FILE as LAYOUTS
from tests.unit.checkpoints.layouts import layouts
from tests.unit.checkpoints.record import STATES as FOLDER
from tests.unit.checkpoints.recording import SUFFIX, Recording, cut, lines, wall_us
from windowing.model import parse_pipeline
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.model.run_errors import CheckpointMismatch
from windowing.runtime.local import LocalEngine
from windowing.semantics import evaluate

STATES = sorted(FOLDER.glob(f"*{SUFFIX}"))
_PLAIN = ("-plain", "-late-rows", "case-sessions", "case-another-attribute")
_IN_ANOTHER_ORDER = [file for file in STATES if file.name.removesuffix(SUFFIX).endswith(_PLAIN)]


def _name(file: Path) -> str:
    return file.name.removesuffix(SUFFIX)


@cache
def _whole(text: str, events: str) -> tuple[list[str], list[str]]:
    """What an uninterrupted run emits."""
    recording = _of(text, events)
    engine = LocalEngine(recording.pipeline)
    for number, batch in enumerate(cut(recording.pipeline, recording.log)):
        engine.feed(batch, wall_us(number))
    return lines(engine.output)


def _of(text: str, events: str) -> Recording:
    """A recording of which no more is known than its pipeline and its log."""
    return Recording(text, events, 0, [], [], [], [])


@cache
def _defined(text: str, events: str) -> list[str]:
    """What the definition says of a log."""
    recording = _of(text, events)
    outcome = evaluate(recording.pipeline, recording.log)
    return [*row_lines(outcome.rows), *dead_letter_lines(outcome.dead)]


@pytest.mark.parametrize("file", sampled(STATES, every=5), ids=_name)
def test_a_recorded_state_goes_on_to_the_same_bytes(file: Path) -> None:
    recording = Recording.read(file)
    pipeline = recording.pipeline
    engine = LocalEngine(pipeline)
    engine.restore(recording.state)
    later = cut(pipeline, recording.log)[recording.fed :]
    for number, batch in enumerate(later, start=recording.fed):
        engine.feed(batch, wall_us(number))
    rows, early = lines(engine.output)
    defined = _defined(recording.text, recording.events)
    assert sorted([*recording.rows, *rows]) == sorted(defined)
    whole, whole_early = _whole(recording.text, recording.events)
    assert whole == defined
    # Provisional rows follow the cuts, and these are the same.
    assert sorted([*recording.early, *early]) == sorted(whole_early)


def turned_around(text: str) -> str:
    """A pipeline file with its fields, queries and generators in another order."""
    document = yaml.safe_load(text)
    sources = (
        [document["join"][side]["source"] for side in ("left", "right")]
        if ("join" in document)
        else [document["source"]]
    )
    for part in sources:
        for name in ("fields", "disorder_of"):
            if name in part:
                part[name] = dict(reversed(part[name].items()))
    if "queries" in document:
        document["queries"] = dict(reversed(document["queries"].items()))
    return yaml.safe_dump(dict(reversed(document.items())), sort_keys=False, allow_unicode=True)


@pytest.mark.parametrize("file", sampled(_IN_ANOTHER_ORDER, every=3), ids=_name)
def test_a_state_opens_under_a_file_in_another_order(file: Path) -> None:
    """It has the same fingerprint, so nothing that is stored may follow the order."""
    recording = Recording.read(file)
    turned = parse_pipeline(turned_around(recording.text))
    assert turned.fingerprint == recording.pipeline.fingerprint
    engine = LocalEngine(turned)
    engine.restore(recording.state)
    for batch in cut(turned, recording.log)[recording.fed :]:
        engine.feed(batch)
    rows = [*recording.rows, *lines(engine.output)[0]]
    assert sorted(rows) == sorted(_defined(recording.text, recording.events))


def test_state_that_lies_apart_is_among_them() -> None:
    """As it does where it is not due for long."""
    shards = [shard for file in STATES for shard in Recording.read(file).shards]
    assert any(key.startswith("partials/far-") for shard in shards for key in shard)


def test_the_state_of_another_pipeline_is_refused() -> None:
    recording = Recording.read(FOLDER / f"sliding-plain{SUFFIX}")
    other = parse_pipeline(recording.text.replace("name: simulated", "name: renamed"))
    engine = LocalEngine(other)
    engine.restore(recording.state)
    later = cut(other, recording.log)[recording.fed :]
    engine.feed(later[0])  # a name is no fact of a result
    changed = parse_pipeline(recording.text.replace("partitions: ", "dense: true\n  partitions: "))
    engine = LocalEngine(changed)
    engine.restore(recording.state)
    with pytest.raises(CheckpointMismatch, match="another version of pipeline"):
        engine.feed(later[0])


def test_a_struct_that_changes_gets_another_number() -> None:
    """If this fails: the next number, then `python -m …layouts` and `…record` (README)."""
    known = json.loads(LAYOUTS.read_text(encoding="utf-8"))
    for what, (number, layout) in layouts().items():
        assert known[what] == [number, layout], what
