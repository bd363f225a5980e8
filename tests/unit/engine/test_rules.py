"""Rules as cases that were computed by hand: against a misreading that engine and definition share.

Each is a pipeline, a log and the rows that the rule's text says; `tests/data/rules/README.md` lists
which case holds which rule.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.sampling import sampled
from windowing.engine.reading.batches import batches, interleave
from windowing.engine.tuning import tuned
from windowing.model import Pipeline, parse_pipeline
from windowing.model.rows import DeadLetter, Row, dead_letter_order, row_line, row_order
from windowing.runtime.local import run
from windowing.semantics import evaluate

DATA = Path(__file__).parents[2] / "data"
RULES = DATA / "rules"
TIME = {"field": "ts", "unit": "us"}
SOURCE = {
    "topic": "s",
    "partitions": 1,
    "format": "json",
    "event_time": TIME,
    "fields": {"k": "string", "v": "int?"},
    "disorder": "ordered",
}
_LINE = re.compile(r"(\w+)/(\d+) (\d+) (?:@(\d+) )?(?:(control|raw) )?(.*)", re.DOTALL)


@dataclass(frozen=True)
class Entry:
    """A record of a case's log."""

    source: str
    partition: int
    offset: int
    value: bytes | None
    control: bytes | None
    append_us: int | None


def cases() -> dict[str, dict[str, Any]]:
    found = {}
    for path in sorted(RULES.glob("*.yml")):
        for name, case in yaml.safe_load(path.read_text(encoding="utf-8")).items():
            found[f"{path.stem}: {name}"] = case
    return found


CASES = cases()


def pipeline_of(case: dict[str, Any]) -> Pipeline:
    """The pipeline of a case; what it does not say is `SOURCE`'s, and a count."""
    document: dict[str, Any] = {"name": "rule", "shards": 2}
    document |= {name: case[name] for name in ("late", "retention", "accumulation") if name in case}
    if "join" in case:
        given, kind = dict(case["join"]), case["join"]["kind"]
        sides = {"left": ("s", "v"), "right": ("t", "u")}
        for side, (topic, own) in sides.items():
            fields = {"k": "string?", own: "int?"}
            source = SOURCE | {"topic": topic, "fields": fields}
            apart = kind not in ("asof", "window")
            windows = {"window": given.pop(f"{side}_window")} if apart else {}
            given[side] = {"source": source, **windows}
        select = case.get("select", {"v": "left.v", "u": "right.u"})
        document["join"] = {**given, "select": select}
    else:
        source = SOURCE | case.get("source", {})
        if "topics" in source:
            source = {name: source[name] for name in source if name not in ("topic", "partitions")}
        document["source"] = source
        counted: dict[str, Any] = {"aggregates": {"n": "count"}}
        document["queries"] = {name: counted | q for name, q in case["queries"].items()}
    return parse_pipeline(yaml.safe_dump(document, allow_unicode=True, sort_keys=False))


def log_of(case: dict[str, Any], pipeline: Pipeline) -> list[Entry]:
    entries = []
    for line in case["log"]:
        # YAML reads a line with a colon and a blank as a mapping, unless it is quoted.
        match = _LINE.fullmatch(line)
        assert match, line
        source, partition, offset, append_us, kind, text = match.groups()
        data = text.encode()
        entries.append(
            Entry(
                source,
                int(partition),
                int(offset),
                None if kind == "control" else data,
                data if kind == "control" else None,
                None if append_us is None else int(append_us),
            )
        )
    if case.get("ends"):
        for partition in range(pipeline.source.partitions):
            entries.append(Entry("s", partition, 1000, None, b'{"end":true}', None))
    return entries


def short(row: Row, *, offsets: bool) -> str:
    """A row as the cases spell it."""
    spelled = json.loads(row_line(row))

    def text(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    words = [
        spelled["query"],
        str(spelled["window_id"]),
        f"[{spelled['window_start']},{spelled['window_end']})",
        *([text(spelled["key"])] if spelled["key"] else []),
        spelled["pane"],
        str(spelled["revision"]),
        text(spelled["values"]),
        *([f"of {text(spelled['offsets'])}"] if offsets else []),
        *([f"absorbed_by {spelled['absorbed_by']}"] if "absorbed_by" in spelled else []),
        *([f"overflow {text(spelled['overflow'])}"] if "overflow" in spelled else []),
        *(["retract"] if "op" in spelled else []),
    ]
    return " ".join(words)


def shown(case: dict[str, Any], rows: list[Row], dead: list[DeadLetter]) -> tuple[Any, Any]:
    offsets = any(" of {" in line for line in case["rows"])
    return (
        [short(row, offsets=offsets) for row in sorted(rows, key=row_order)],
        [
            f"{d.source}/{d.partition} {d.offset} {d.query or '-'} {d.reason}"
            for d in sorted(dead, key=dead_letter_order)
        ],
    )


@pytest.mark.parametrize("name", CASES)
def test_the_definition_says_what_the_rule_says(name: str) -> None:
    case = CASES[name]
    pipeline = pipeline_of(case)
    outcome = evaluate(pipeline, log_of(case, pipeline))
    assert shown(case, outcome.rows, outcome.dead) == (case["rows"], case.get("dead", []))
    for query, equation in case.get("counts", {}).items():
        counts = outcome.counts[query]
        assert f"read {counts.read} = {' + '.join(map(str, counts.values()))}" == equation


@pytest.mark.parametrize(("name", "batch_rows"), sampled(product(CASES, [1, 2, 3, 1000]), every=3))
def test_the_engine_does_what_the_rule_says(name: str, batch_rows: int) -> None:
    case = CASES[name]
    pipeline = pipeline_of(case)
    log = log_of(case, pipeline)
    for seed in (None, 1):
        entries = log if seed is None else interleave(log, seed)
        with tuned(compact_after_deltas=batch_rows):
            output = run(pipeline, batches(entries, batch_rows, pipeline))
        found = shown(case, output.rows, output.dead_letters)
        assert found == (case["rows"], case.get("dead", []))


def table() -> list[tuple[str, str]]:
    """Every rule of the table, with its case."""
    lines = (RULES / "README.md").read_text(encoding="utf-8").splitlines()
    cells = [line.strip("|").split(" | ") for line in lines if line.startswith("| ")]
    return [(rule.strip(), case.strip()) for rule, case in cells if rule.strip() != "rule"]


def recorded(folder: str, file: str) -> set[str]:
    lines = (DATA / folder / file).read_text(encoding="utf-8").splitlines()
    return {f"{folder}/{json.loads(line)['id']}" for line in lines}


def test_every_rule_has_a_case_and_every_case_a_rule() -> None:
    rules = table()
    assert len(rules) > 100
    others = {f"pipelines/{path.name}" for path in (DATA / "pipelines").iterdir()}
    others |= recorded("wid", "windows.jsonl") | recorded("samza", "scenarios.jsonl")
    named = {case for _, case in rules}
    assert named <= others | set(CASES)
    assert set(CASES) <= named


def test_no_two_cases_have_one_name() -> None:
    for path in RULES.glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        names = re.findall(r"^(\w.*):$", text, flags=re.MULTILINE)
        assert len(names) == len(set(names)) == len(yaml.safe_load(text))
