"""Which pipelines are recorded: those in files, and of each kind some that the simulator draws."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from chaos.simulator.draw import KINDS, Wish, draw_log, draw_pipeline
from chaos.simulator.draw.wish import (
    AS_THEY_ARRIVE,
    JOIN,
    NO_UPDATE,
    OPERATORS,
    ORDER_FREE,
    POLICY_JOIN,
)
from tests.unit.checkpoints.recording import Recording, arrived
from windowing.model import Pipeline, Query, parse_pipeline
from windowing.model.operators.join import SIDES, PolicyJoinQuery
from windowing.model.operators.query import OperatorQuery
from windowing.model.run_errors import WindowingError
from windowing.semantics import evaluate
from windowing.semantics.units import ArrivalOrderError

ROOT = Path(__file__).parents[3]
CASES = ROOT / "tests" / "data" / "pipelines"

_SEEDS = 2_000
_FROZEN = {
    "pipelines.swing": "tests.checkpoints.user_classes",
    "chaos.simulator.draw.swing": "tests.checkpoints.user_classes",
    "chaos.simulator.draw.reporter": "tests.checkpoints.user_operators",
}


def files() -> dict[str, Path]:
    """Every pipeline file of the repository that is shipped or recorded, by a name."""
    found = {f"case {path.parent.name}": path for path in CASES.glob("*/pipeline.yml")}
    shipped = {f"file {path.stem}": path for path in (ROOT / "pipelines").glob("*.yml")}
    return dict(sorted({**found, **shipped}.items()))


def frozen(text: str) -> str:
    """The text of a pipeline file with a class of ours, which never changes, for each of a user."""
    text = re.sub(r"swing:(Picky|Brittle)Swing\(", "swing:Swing(", text)
    for module, ours in _FROZEN.items():
        text = text.replace(f"python:{module}:", f"python:{ours}:")
    return text


def recordings() -> Iterator[tuple[str, Recording]]:
    """All recordings, by name; each holds some state, and has rows still to come."""
    for name, path in files().items():
        text = frozen(path.read_text(encoding="utf-8"))
        events = path.parent / "events.jsonl"
        if events.exists():
            log = [json.loads(line) for line in events.read_text(encoding="utf-8").splitlines()]
        else:
            pipeline = parse_pipeline(text)
            # Windows of many tuples send rows only of a long log.
            wish = Wish(bad_values=False, long=1 if pipeline.of(OperatorQuery) else 0)
            log = arrived(draw_log(random.Random(1), pipeline, wish), seed=1)
        yield name.replace(" ", "-"), Recording.of(text, log)
    for kind in (*KINDS, JOIN):
        for feature, has in _FEATURES.items():
            if _possible(kind, feature):
                name = f"{kind} {feature}".replace(" ", "-").replace("'", "")
                yield name, _drawn(kind, has)
    for order in ("canonical", "lane"):
        yield f"operators-in-{order}-order", _drawn(OPERATORS, partial(_operates, order))
    yield "duplicates", Recording.of(_RETRIES, _sent_again())
    yield POLICY_JOIN.replace(" ", "-"), _drawn(POLICY_JOIN, _partitioned)


_RETRIES = """
name: retries
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {id: string, v: int}
  disorder: {slack: 4 us}
  duplicates: {by: [id], within: 12 us}
shards: 2
queries:
  q: {window: RANGE 8 us SLIDE 4 us WATTR ts, aggregates: {n: count, total: sum(v)}}
"""


def _sent_again() -> list[dict[str, Any]]:
    """A log of which every record comes three times, the last time too late to be found."""
    again = [(at + delay, at) for at in range(0, 90, 3) for delay in (0, 7, 30)]
    return [
        {
            **{"source": "s", "partition": at % 2, "offset": offset},
            "value": {"ts": at, "id": str(at), "v": offset},
        }
        for offset, (_, at) in enumerate(sorted(again))
    ]


def _late_shown(pipeline: Pipeline) -> bool:
    return any(flow.late.policy == "update" for flow in pipeline.flows)


def _early(pipeline: Pipeline) -> bool:
    return any(query.early is not None for query in pipeline.of(Query))


def _idle(pipeline: Pipeline) -> bool:
    return pipeline.source.idle_timeout_us is not None and pipeline.source.partitions > 1


def _users(pipeline: Pipeline) -> bool:
    return any(one.user is not None for query in pipeline.of(Query) for one in query.aggregates)


def _plain(pipeline: Pipeline) -> bool:
    return not any(has(pipeline) for has in (_late_shown, _early, _idle, _users))


def _operates(order: str, pipeline: Pipeline) -> bool:
    """Whether operators process the records of several units in an order, by the records' time."""
    queries = pipeline.of(OperatorQuery)
    return any(query.order == order and len(query.unit) > 0 for query in queries) and not any(
        query.clock == "wall" for query in queries
    )


def _partitioned(pipeline: Pipeline) -> bool:
    """Whether both sides of a join have windows by partition, one of them with a limit."""
    joins = pipeline.of(PolicyJoinQuery)
    if not joins:
        return False
    windows = [joins[0].side_window(side) for side in SIDES]
    limited = any(window.partition_eviction is not None for window in windows)
    return limited and all(window.partition_by for window in windows)


_FEATURES: dict[str, Callable[[Pipeline], bool]] = {
    "plain": _plain,
    "late rows": _late_shown,
    "early rows": _early,
    "idle": _idle,
    "user aggregate": _users,
}


def _possible(kind: str, feature: str) -> bool:
    if feature == "late rows":
        return kind not in NO_UPDATE
    if feature == "idle":
        return kind in ORDER_FREE
    if feature == "early rows":
        return kind in ORDER_FREE or kind in AS_THEY_ARRIVE - {"slide by n"}
    return feature == "plain" or kind != JOIN


def _drawn(kind: str, has: Callable[[Pipeline], bool]) -> Recording:
    """The first drawn case with a feature whose state, in the middle of its log, is worth it."""
    wish = Wish(classes=(kind,), bad_values=False, refusals=False, overflow=0, queries_max=2)
    for seed in range(_SEEDS):
        rng = random.Random(f"{kind} {seed}")
        text = frozen(draw_pipeline(rng, wish))
        pipeline = parse_pipeline(text)
        if has(pipeline):
            recording = _worth(pipeline, arrived(draw_log(rng, pipeline, wish), seed))
            if recording is not None:
                return recording
    msg = f"of {_SEEDS} drawn pipelines of class {kind} none will do"
    raise AssertionError(msg)


def _worth(pipeline: Pipeline, events: list[dict[str, Any]]) -> Recording | None:
    try:
        recording = Recording.of(pipeline.text, events)
        whole = evaluate(pipeline, recording.log)
    except (ArrivalOrderError, WindowingError):
        return None
    kept = ("partials/", "rows/")
    holds = any(name.startswith(kept) for shard in recording.shards for name in shard)
    early = any(query.early is not None for query in pipeline.of(Query))
    covers = bool(recording.rows) and (recording.early or not early)
    return recording if holds and covers and len(whole.rows) > len(recording.rows) else None
