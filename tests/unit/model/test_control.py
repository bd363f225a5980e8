"""Which control records a pipeline believes, and what a log may ask for by one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import yaml

from windowing.model import Pipeline, PipelineError, parse_pipeline
from windowing.model.control import (
    WINDOWS_MAX,
    ControlEnvelope,
    ControlKeyError,
    Outline,
    outline,
    parse_control_rule,
    sealed,
    signature,
    unsealed,
)
from windowing.model.file.allowed import LANE_CELLS_MAX
from windowing.model.file.changes import (
    Change,
    Copy,
    as_written,
    changed,
    parse_change,
    read_change,
    refused_copies,
)

TEXT = """
name: p
source:
  topic: s
  partitions: 3
  format: json
  event_time: {field: ts, unit: us}
  fields: {k: string, v: int, x: float}
  disorder: {slack: 5 us}
  control: CONTROL
queries:
  w:
    window: RANGE 10 us SLIDE 10 us WATTR ts
    aggregates: {n: count, r: "python:of.the_file:Range(v)"}
  b:
    window: RANGE 20 us SLIDE 10 us WATTR ts
    group_by: [k]
    retention: {entries: 99}
    aggregates: {n: count}
"""
PIPELINE = parse_pipeline(TEXT.replace("CONTROL", "{believe: all, queries: 3}"))


def query(**more: Any) -> dict[str, Any]:
    own = {"window": "RANGE 20 us SLIDE 10 us WATTR ts", "aggregates": {"n": "count"}, "from": 40}
    return {**own, **more}


def copy(lane: int, offset: int, **said: Any) -> Copy:
    change = parse_change(json.loads(json.dumps({"queries": said})))
    assert change is not None
    return Copy(f"s/{lane}", offset, change)


def made(*copies: Copy, pipeline: Pipeline = PIPELINE) -> Pipeline:
    """The pipeline once lanes have taken all of these copies."""
    for one in copies:
        after = changed(pipeline, one)
        assert not isinstance(after, str), (one, after)
        # What a run's own copy of its file says is the same pipeline.
        again = parse_pipeline(after.text)
        assert again.fingerprint == after.fingerprint
        assert [*again.flows] == [*after.flows]
        assert again.conflicts == after.conflicts
        pipeline = after
    return pipeline


@pytest.fixture(autouse=True)
def _no_class_is_imported(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The fingerprint imports what the file names; a stand-in for that is there, and no other."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "classes_of_files"))
    before = {*sys.modules}
    yield
    assert not [name for name in {*sys.modules} - before if name.startswith("nowhere")]


@pytest.mark.parametrize(
    ("written", "believes"),
    [
        (None, ("bounds", 100, None)),
        ("none", ("none", 100, None)),
        ("all", ("all", 100, None)),
        ({"believe": "all", "queries": 5, "key": "SECRET"}, ("all", 5, "SECRET")),
        ({"key": "SECRET"}, ("bounds", 100, "SECRET")),
    ],
)
def test_the_rule_is_a_word_or_a_mapping(written: Any, believes: tuple[Any, ...]) -> None:
    document = yaml.safe_load(TEXT)
    document["source"].pop("control")
    if written is not None:
        document["source"]["control"] = written
    rule = parse_pipeline(yaml.safe_dump(document)).source.control
    assert (rule.believe, rule.queries, rule.key) == believes


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("some", "'some' is not a rule for control records: use none, bounds or all"),
        (7, "control is none, bounds or all, or a mapping"),
        ("{believe: all, queries: 0}", "0 is not allowed: it has to be at least 1"),
        ("{believe: everything}", "'none', 'bounds' or 'all'"),
        ("{key: not a name}", "key names the environment variable that has the secret"),
        ("{secret: abc}", "secret"),
    ],
)
def test_a_mistake_in_the_rule_has_its_line(written: Any, says: str) -> None:
    with pytest.raises(PipelineError) as caught:
        parse_pipeline(TEXT.replace("CONTROL", str(written)), "p.yml")
    assert says in str(caught.value)
    assert "p.yml:10: source.control" in str(caught.value)


def test_a_secret_that_is_not_there_is_an_error_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ABSENT_KEY", raising=False)
    rule = parse_control_rule({"key": "ABSENT_KEY"})
    with pytest.raises(ControlKeyError, match="the environment variable ABSENT_KEY is not set"):
        rule.secret  # noqa: B018 - it is looked for here
    assert parse_control_rule("all").secret is None


def test_a_signature_is_of_lane_counter_and_body() -> None:
    # Computed with: printf 's/0\n7\n{"end":true}' | openssl dgst -sha256 -hmac secret
    right = b"fc407e369b5848dd8cc20328063bc60294e8a46122dabac91cb27046f2a2552d"
    found = signature(b"secret", "s/0", 7, b'{"end":true}')
    assert found == right
    body, counter = b'{"end":true}', b"7"
    assert ControlEnvelope(body, found, counter).checked(b"secret", "s/0") == 7
    for other in (
        ControlEnvelope(body, found, counter).checked(b"another", "s/0"),
        ControlEnvelope(body, found, counter).checked(b"secret", "s/1"),
        ControlEnvelope(body, found, b"8").checked(b"secret", "s/0"),
        ControlEnvelope(b'{"end":true} ', found, counter).checked(b"secret", "s/0"),
        ControlEnvelope(body, found.upper(), counter).checked(b"secret", "s/0"),
        ControlEnvelope(body, None, counter).checked(b"secret", "s/0"),
        ControlEnvelope(body, found, None).checked(b"secret", "s/0"),
        ControlEnvelope(body, signature(b"secret", "s/0", 7, body), b"07").checked(
            b"secret", "s/0"
        ),
        ControlEnvelope(body, signature(b"secret", "s/0", 2**63, body), b"%d" % 2**63).checked(
            b"secret", "s/0"
        ),
    ):
        assert other is None


@pytest.mark.parametrize("body", [b"", b"{}", b'{"a":"\x00"}', b"\xff\x00\x00"])
@pytest.mark.parametrize("signed", [(None, None), (b"ab", b"1"), (b"", b"")])
def test_what_is_sealed_is_unsealed(body: bytes, signed: tuple[bytes, bytes]) -> None:
    assert unsealed(sealed(body, *signed)) == ControlEnvelope(body, *signed)


@pytest.mark.parametrize("control", [b"\x00", b"\x00ab\x00{}", b"\x00{}"])
def test_what_nobody_has_sealed_is_no_control(control: bytes) -> None:
    assert unsealed(control) == ControlEnvelope(b"null")


@pytest.mark.parametrize(
    ("body", "signed", "counter", "is_read_as"),
    [
        # Nobody can say by the body alone that a record is signed.
        (b"\x00ab\x001\x00{}", None, None, ControlEnvelope(b"null")),
        (b"{}", b"a\x00b", b"1", ControlEnvelope(b"{}")),
        (b"{}", b"ab", None, ControlEnvelope(b"{}")),
    ],
)
def test_headers_that_sign_nothing(
    body: bytes, signed: bytes | None, counter: bytes | None, is_read_as: ControlEnvelope
) -> None:
    assert unsealed(sealed(body, signed, counter)) == is_read_as


@pytest.mark.parametrize("believe", ["none", "bounds"])
def test_changes_are_made_by_a_log_that_may(believe: str) -> None:
    pipeline = parse_pipeline(TEXT.replace("CONTROL", believe))
    assert changed(pipeline, copy(0, 5, add={"new": query()})) == "not_allowed"
    assert changed(pipeline, copy(0, 5, remove={"w": 100})) == "not_allowed"


@pytest.mark.parametrize(
    ("added", "becomes"),
    [
        ({"new": query()}, None),
        ({"new": query(aggregates={"r": "python:of.the_file:Range(v)"})}, None),
        ({"new": query(aggregates={"r": "python:nowhere.to.be_found:Class(v)"})}, "not_allowed"),
        ({"new": query(aggregates={"r": "python:of.the_file:Other(v)"})}, "not_allowed"),
        # The class was written for ints: what it does with others, nobody has tried.
        ({"new": query(aggregates={"r": "python:of.the_file:Range(x)"})}, "not_allowed"),
        ({"new": query(aggregates={"r": "python:of.the_file:Range(v, v)"})}, "not_allowed"),
        ({"new": query(retention={"entries": 1})}, "not_allowed"),
        ({"new": query(retention={"entries": 99})}, None),
        ({"new": query(window=f"RANGE {WINDOWS_MAX} us SLIDE 1 us WATTR ts")}, None),
        ({"new": query(window=f"RANGE {WINDOWS_MAX + 1} us SLIDE 1 us WATTR ts")}, "not_allowed"),
        # A record can lie in one more than a whole number of slides.
        (
            {"new": query(window=f"RANGE {2 * WINDOWS_MAX + 1} us SLIDE 2 us WATTR ts")},
            "not_allowed",
        ),
        ({"new": query(colour="red")}, "malformed"),
        ({"new": query(aggregates={})}, "malformed"),
        ({"new": query(aggregates=7)}, "malformed"),
        ({"new": query(aggregates=True, window=None, retention=1.5)}, "malformed"),
        ({"new": query(aggregates={f"a{n}": "count" for n in range(100)})}, None),
        ({"new": query(aggregates={f"a{n}": "count" for n in range(101)})}, "not_allowed"),
        ({"new": query(aggregates={"n": "sum(nothing)"})}, "malformed"),
        ({"new": query(window="SESSION 5 us WATTR ts")}, "malformed"),
        ({"new": query(window={"months": {"shift": 1}, "wattr": "ts"})}, "malformed"),
        ({"w": query()}, "malformed"),
        ({"metrics": query()}, "malformed"),
        ({"../w": query()}, "malformed"),
        ({"new": query(window=" " * 9_000 + "RANGE 20 us SLIDE 10 us WATTR ts")}, "malformed"),
        ({f"q{n}": query() for n in range(3)}, None),
        ({f"q{n}": query() for n in range(4)}, "not_allowed"),
    ],
)
def test_what_a_log_may_add(added: dict[str, Any], becomes: str | None) -> None:
    after = changed(PIPELINE, copy(0, 5, add=added))
    assert (after if isinstance(after, str) else None) == becomes


def test_a_lane_may_add_so_many_queries_whatever_others_do() -> None:
    first = made(copy(1, 5, add={"a": query(), "b2": query()}), copy(0, 9, add={"c": query()}))
    assert changed(first, copy(1, 7, add={"d": query(), "e": query()})) == "not_allowed"
    assert not isinstance(changed(first, copy(1, 7, add={"d": query()})), str)
    # Another lane has its own number; and what comes later in the same lane is no past of it.
    assert not isinstance(changed(first, copy(2, 7, add={"d": query(), "e": query()})), str)
    assert not isinstance(changed(first, copy(1, 4, add={"d": query(), "e": query()})), str)


def test_all_that_a_lane_adds_has_so_many_windows() -> None:
    pipeline = parse_pipeline(TEXT.replace("CONTROL", "{believe: all, queries: 50}"))
    wide = query(window=f"RANGE {WINDOWS_MAX} us SLIDE 1 us WATTR ts")
    many = LANE_CELLS_MAX // (WINDOWS_MAX * 11)
    full = made(*(copy(0, n, add={f"q{n}": wide}) for n in range(many)), pipeline=pipeline)
    assert changed(full, copy(0, 99, add={"more": wide})) == "not_allowed"
    assert not isinstance(changed(full, copy(0, 99, add={"more": query()})), str)
    assert not isinstance(changed(full, copy(1, 99, add={"more": wide})), str)


def test_what_lanes_add_to_one_table_has_columns_of_the_file() -> None:
    """Else two lanes could have two types for one, and what came first would decide."""
    text = TEXT.replace("CONTROL", "all").replace("group_by: [k]", "group_by: []")
    text += "sink: {table: p, layout: one}\n"
    pipeline = parse_pipeline(text)
    assert not isinstance(changed(pipeline, copy(0, 5, add={"new": query()})), str)
    for aggregates in ({"x": "first(k)"}, {"n": "sum(x)"}):
        added = {"new": query(aggregates=aggregates)}
        assert changed(pipeline, copy(0, 5, add=added)) == "not_allowed"


def test_whatever_lanes_add_can_be_read_again() -> None:
    """The most that one may: a run's own copy of its file is read at every start."""
    pipeline = parse_pipeline(TEXT.replace("CONTROL", "all"))
    wide = query(aggregates={f"a{n}": "count" for n in range(100)})
    for at in range(33):
        added = {f"q{at}-{n}": wide for n in range(3)}
        after = changed(pipeline, copy(0, at, add=added))
        assert not isinstance(after, str)
        pipeline = after
    assert parse_pipeline(pipeline.text).fingerprint == pipeline.fingerprint


@pytest.mark.parametrize(
    "body",
    [
        b'{"queries":{"add":{"x":{"window":{"months":{"shift":[1]}},"from":1}}}}',
        b'{"queries":{"add":{"x":{"group_by":[[1]],"from":1}}}}',
        b'{"queries":{"add":{"x":{"retention":1e400,"from":1}}}}',
        b'{"queries":{"add":{"x":{"from":1,"\\ud800":1}}}}',
        b'{"queries":' + b"[" * 500 + b"]" * 500 + b"}",
    ],
)
def test_what_is_no_change_is_none_however_long(body: bytes) -> None:
    assert read_change(body) is None
    assert read_change(b'{"queries":{"remove":{"x":1}}}') == Change({}, {"x": 1})


@pytest.mark.parametrize(
    ("body", "about"),
    [
        (b'{"bound":1}', Outline(change=False)),
        (b'{"queries":1,"more":2}', Outline(change=False)),
        (b'{"queries":null}', Outline(change=True)),
        (b'{"\\u0071ueries":{"add":{"x":1,"y":2},"remove":{}}}', Outline(change=True, names=2)),
        (b'{"queries":' + b"[" * 31 + b"]" * 31 + b"}", Outline(change=True)),
        (b'{"queries":' + b"[" * 33 + b"]" * 33 + b"}", None),
        (b'{"queries":"' + b"[" * 99 + b'"}', Outline(change=True)),
        (b"[]", None),
        (b"\xff", None),
        (b'{"a":1', None),
    ],
)
def test_an_outline_is_what_decides(body: bytes, about: Outline | None) -> None:
    assert outline(body) == about


A, B = query(), query(window="RANGE 30 us SLIDE 10 us WATTR ts")


def refused(pipeline: Pipeline) -> set[tuple[str, int]]:
    return {*refused_copies(pipeline.conflicts)}


def test_a_name_with_two_queries_is_nobodys() -> None:
    both = made(copy(0, 5, add={"new": A}), copy(1, 7, add={"new": B}))
    assert "new" not in {flow.name for flow in both.flows}
    assert refused(both) == {("s/1", 7)}
    assert both.log_places == {("s/0", 5), ("s/1", 7)}
    assert as_written(both).fingerprint == PIPELINE.fingerprint


COPIES = (
    copy(0, 5, add={"new": A}),
    copy(1, 7, add={"new": B}),
    copy(2, 6, add={"new": A}),
)


@pytest.mark.parametrize(
    "order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
)
def test_what_differs_from_a_lower_lane_is_refused_whichever_comes_first(
    order: tuple[int, ...],
) -> None:
    # The third is what the first is, and differs from the second all the same: more of a log makes
    # no dead letter undone.
    found = made(*(COPIES[place] for place in order))
    assert refused(found) == {("s/1", 7), ("s/2", 6)}
    assert found.fingerprint == made(*COPIES).fingerprint
    # Each is settled once: by itself, or by a copy that was read later.
    for (_, offset), settled in refused_copies(found.conflicts).items():
        assert settled in found.log_places
        assert offset in {5, 6, 7}


def test_a_lane_that_has_spoken_does_not_speak_again() -> None:
    both = made(copy(0, 5, add={"new": A}), copy(1, 7, add={"new": B}))
    assert changed(both, copy(1, 9, add={"new": A})) == "malformed"
    assert changed(both, copy(0, 9, add={"new": A})) == "malformed"
    gone = made(copy(1, 9, remove={"new": 90}), pipeline=both)
    assert ("s/1", 9) in gone.log_places
    assert changed(gone, copy(1, 10, remove={"new": 90})) == "malformed"
    assert changed(both, copy(2, 9, remove={"new": 90})) == "malformed"
    assert changed(both, copy(1, 9, remove={"new": 41})) == "malformed"  # no window ends by then


def test_one_record_is_refused_once_whatever_names_it_has() -> None:
    found = made(
        copy(1, 7, add={"new": B, "newer": B}),
        copy(0, 5, add={"new": A}),
        copy(0, 6, add={"newer": A}),
    )
    assert refused_copies(found.conflicts) == {("s/1", 7): ("s/0", 5)}


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_a_query_ends_at_the_earliest_end_that_a_lane_has(order: tuple[int, ...]) -> None:
    copies = [copy(lane, 5, remove={"w": until}) for lane, until in enumerate((300, 100, 200))]
    found = made(*(copies[place] for place in order))
    active = found.flows[0].window.active
    assert active is not None
    assert active.until_us == 100
    assert [active.until_in(f"s/{lane}") for lane in range(3)] == [300, 100, 200]
    assert found.fingerprint == made(*copies).fingerprint


def test_nothing_is_parsed_anew_for_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused change costs what it says, and not what the file has."""
    asked: list[str] = []
    monkeypatch.setattr(
        "windowing.model.file.pipeline.parse_document", lambda *_, **__: asked.append("parsed")
    )
    monkeypatch.setattr(Pipeline, "with_document", lambda *_: asked.append("whole"), raising=True)
    for said in ({"add": {"w": A}}, {"add": {"x": query(colour=1)}}, {"remove": {"x": 1}}):
        assert changed(PIPELINE, copy(0, 5, **said)) == "malformed"
    assert not asked
