"""Recorded checkpoints open, whatever the code has become, and go on to the same bytes."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.checkpoints.layouts import FILE as LAYOUTS
from tests.checkpoints.layouts import layouts
from tests.checkpoints.record import HERE
from tests.checkpoints.recording import SUFFIX, Recording, cut, lines, wall_us
from tests.sampling import sampled
from windowing.engine import lane, shard_head
from windowing.engine.formats import Format, number_of
from windowing.engine.state import MemoryStore
from windowing.model import parse_pipeline
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.model.run_errors import CheckpointMismatch
from windowing.runtime.local import LocalEngine
from windowing.semantics import evaluate

FOLDERS = sorted(path for path in HERE.glob("states-*") if path.is_dir())
STATES = [file for folder in FOLDERS for file in sorted(folder.glob(f"*{SUFFIX}"))]
_PLAIN = ("-plain", "-late-rows", "case-sessions", "case-another-attribute")
_OF_TODAY = [
    file
    for file in STATES
    if file.parent == FOLDERS[-1] and file.name.removesuffix(SUFFIX).endswith(_PLAIN)
]


def _name(file: Path) -> str:
    return f"{file.parent.name}/{file.name.removesuffix(SUFFIX)}"


@cache
def _whole(text: str, events: str) -> tuple[list[str], list[str]]:
    """What an uninterrupted run emits; every format has the same logs."""
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


@pytest.mark.parametrize("file", sampled(STATES, every=3), ids=_name)
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
    _is_of_today(engine, pipeline.fingerprint)


def _is_of_today(engine: LocalEngine, fingerprint: str) -> None:
    """Every head that was written since bears today's number, and today's fingerprint."""
    state, fed = engine.snapshot(), 0
    kinds: list[tuple[tuple[dict[str, bytes], ...], str, Format[Any]]] = [
        (state.lanes, "lane", lane.STATE),
        (state.shards, "head", shard_head.STATE),
    ]
    for stores, key, format_ in kinds:
        for store in stores:
            if key in store and number_of(store[key])[0] == format_.number:
                assert format_.decode(store[key], MemoryStore()).fingerprint == fingerprint
                fed += 1
    assert fed > 0


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


@pytest.mark.parametrize("file", _OF_TODAY, ids=_name)
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


def test_every_format_that_ever_was_is_recorded() -> None:
    numbers = {int(folder.name.removeprefix("states-")) for folder in FOLDERS}
    assert numbers == set(range(1, max(lane.STATE.number, shard_head.STATE.number) + 1))


def test_state_that_lies_apart_is_among_them() -> None:
    """As it does since format 3, where it is not due for long."""
    new = [Recording.read(file) for file in STATES if file.parent.name == "states-3"]
    assert any(key.startswith("partials/far-") for one in new for s in one.shards for key in s)


def test_the_first_form_is_among_them() -> None:
    """Heads without a number, which bear a fingerprint of the first form."""
    old = [Recording.read(file) for file in STATES if file.parent.name == "states-1"]
    heads = [store["head"] for one in old for store in one.shards if "head" in store]
    assert heads
    assert {number_of(head)[0] for head in heads} == {1}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_state_of_another_pipeline_is_refused(folder: Path) -> None:
    recording = Recording.read(folder / f"sliding-plain{SUFFIX}")
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
    """If this fails: next number, a migration, record it (README), `python -m …layouts`."""
    known = json.loads(LAYOUTS.read_text(encoding="utf-8"))
    for what, (number, layout) in layouts().items():
        assert known[what].get(str(number)) == layout, what
