"""Fingerprints of recorded pipelines; `python -m tests.unit.checkpoints.fingerprints` adds some.

`fingerprints.jsonl` has a line for each: its name, its fingerprint, and the text of its file. Lines
are added, and none is changed without another `FORMAT`: see the README beside this.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from chaos.simulator.draw import KINDS, Wish, draw_pipeline
from chaos.simulator.draw.wish import JOIN, OPERATORS, POLICY_JOIN
from tests.unit.checkpoints.drawn import files, frozen
from windowing.model import Pipeline, Query, parse_pipeline
from windowing.model.operators.join import SIDES, PolicyJoinQuery
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import Punctuate, Step
from windowing.model.query import JoinQuery
from windowing.model.windows.policy import WindowClause

FILE = Path(__file__).parent / "fingerprints.jsonl"
_SEEDS = 150


def recorded() -> list[dict[str, str]]:
    """The lines of the file."""
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def chosen() -> Iterator[tuple[str, str]]:
    """By name, the texts of all pipelines to be recorded.

    Of drawn ones, those of which each has some class × generator × policy, or a feature with its
    class, that none before it has.
    """
    for name, path in files().items():
        yield name, frozen(path.read_text(encoding="utf-8"))
    seen: set[tuple[object, ...]] = set()
    for kind in (*KINDS, JOIN, OPERATORS, POLICY_JOIN):
        for seed in range(_SEEDS):
            wish = Wish(classes=(kind,), same_class=True, queries_max=2)
            text = frozen(draw_pipeline(random.Random(f"{kind} {seed}"), wish))
            shown = features(parse_pipeline(text))
            if shown - seen:
                seen |= shown
                yield f"drawn {kind} {seed}", text
    for kind in ("sliding", JOIN):
        for seed in range(2):
            wish = Wish(classes=(kind,), same_class=True, queries_max=2, duplicates=1)
            text = draw_pipeline(random.Random(f"{kind} with duplicates {seed}"), wish)
            yield f"drawn {kind} with duplicates {seed}", frozen(text)


def features(pipeline: Pipeline) -> set[tuple[object, ...]]:
    """What a pipeline has: its classes with generators and policies, and all else by itself."""
    source, found = pipeline.source, set[tuple[object, ...]]()
    generators = {type(part.disorder).__name__ for part in source.parts}
    for join in pipeline.of(JoinQuery):
        found |= {("join", one, join.late.policy) for one in generators}
        found |= {("join", join.late.mode, join.accumulation, True)}
        found |= {("kept", join.entries_max is None, join.retention_us is None)}
        if isinstance(join, PolicyJoinQuery):
            found |= {("join", join.keeps("left"), join.keeps("right"), bool(join.partitions))}
            found |= {_of_window(join.side_window(side)) for side in SIDES}
            found |= {_of_partitions(join.side_window(side)) for side in SIDES}
    for query in pipeline.of(Query):
        window = query.window
        generators = generators | {type(one).__name__ for one in source.disorder_of.values()}
        found |= {(window.kind, one, query.late.policy) for one in generators}
        found |= {(window.kind, query.late.mode, query.accumulation, query.early is None)}
        found |= {
            ("window", window.traits.order, window.align, window.pattr is None, bool(window.gaps))
        }
        found |= {("aggregate", one.function, one.parameters) for one in query.aggregates}
        found |= {("kept", query.entries_max is None, query.retention_us is None)}
    for operators in pipeline.of(OperatorQuery):
        found |= {("operators", operators.order, operators.late.policy, len(operators.steps) > 1)}
        for step in operators.steps:
            found |= _features_of_step(step)
    for part in source.parts:
        found |= {("source", part.event_time.unit, part.dense, part.unknown_fields)}
    return found | {("idle", source.idle_timeout_us is None), ("joined", len(source.added_lanes))}


def _features_of_step(step: Step) -> set[tuple[object, ...]]:
    if isinstance(step, Punctuate):
        return {("condition", step.when.comparator, type(step.when.constant))}
    window = step.window
    operator = ("operator", type(step), window.kind, bool(window.partition_by))
    return {operator, _of_window(window), _of_partitions(window)}


def _of_window(window: WindowClause) -> tuple[object, ...]:
    return "window", window.kind, type(window.eviction), type(window.trigger)


def _of_partitions(window: WindowClause) -> tuple[object, ...]:
    evicts = window.partition_eviction
    return "partitions", type(evicts), getattr(evicts, "selection", None)


def main() -> None:
    """Add a line for each pipeline that has none yet."""
    known = {line["name"] for line in recorded()} if FILE.exists() else set()
    with FILE.open("a", encoding="utf-8") as target:
        for name, text in chosen():
            if name not in known:
                line = {"name": name, "fingerprint": parse_pipeline(text).fingerprint, "text": text}
                target.write(json.dumps(line, ensure_ascii=False) + "\n")
                sys.stderr.write(f"{name}: {line['fingerprint']}\n")


if __name__ == "__main__":
    main()
