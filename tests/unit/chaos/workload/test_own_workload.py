"""Chaos on a user's own pipeline and records: what is sent, and what is rejected at once."""

from __future__ import annotations

import json
import os
import textwrap
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from chaos.plan import kind_of, parse_plan
from chaos.readers.log import EventsFileError
from chaos.run.fitting import fitting_faults, make_order
from chaos.run.stack_under_test import StackKind
from chaos.workload.feed import cut, departed, in_its_lanes
from chaos.workload.kinds import RECORDS_MAX, Workload
from chaos.workload.origin import GeneratorError, Origin
from chaos.workload.own_pipeline import own_pipeline
from chaos.workload.records import WorkloadRecord, read_records
from slackwater.main import app
from windowing.model import PipelineError, load_pipeline, parse_pipeline
from windowing.model.control import ControlRule
from windowing.semantics.controls import Observation, read_control
from windowing.semantics.values import ValueReader
from windowing.semantics.view import lanes_of

ROOT = Path(__file__).parents[4]
SHOP = """\
name: shop
source:
  topic: orders
  partitions: 2
  format: json
  event_time: {field: at, unit: ms, max_ahead: 30 days}
  fields: {shop: string, amount: float, coupon: "string?"}
  disorder: {heartbeat: {orders/0: {max_delay: 2 s}, orders/1: {max_delay: 2 s}}}
queries:
  per_shop:
    window: RANGE 10 minutes SLIDE 10 minutes WATTR at
    group_by: [shop]
    aggregates: {orders: count, turnover: sum(amount)}
"""
PLAN = """\
name: shop
pipeline: orders.yml
workload: {events: events.jsonl, max_offsets: 10}
faults:
  - kill_executor
recovery: {within: 1 minute}
"""


def value(number: int) -> dict[str, object]:
    return {"at": 1_750_000_000_000 + number, "shop": "süd", "amount": 1.5}


def event(number: int, **other: object) -> dict[str, object]:
    place = {"source": "orders", "partition": number % 2, "offset": number // 2}
    return {**place, "value": value(number), **other}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A user's folder with a pipeline, its log, and a plan."""
    (tmp_path / "orders.yml").write_text(SHOP)
    (tmp_path / "plan.yml").write_text(PLAN)
    write(tmp_path / "events.jsonl", [event(number) for number in range(200)])
    return tmp_path


def write(file: Path, lines: list[dict[str, object]]) -> Path:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def ordered(shop: Path, plan: str = PLAN, kind: StackKind = "local") -> list[WorkloadRecord]:
    (shop / "plan.yml").write_text(plan)
    order = make_order(shop / "plan.yml", shop / "report", seed=3, kind=kind, bootstrap=str)
    return [*order.records]


def refused(shop: Path, plan: str, *, kind: StackKind = "local") -> str:
    with pytest.raises(PipelineError) as raised:
        ordered(shop, plan, kind)
    return str(raised.value)


# --- what is sent ----------------------------------------------------------------------------


def test_a_log_is_sent_unchanged_except_for_its_ends(shop: Path) -> None:
    lines = [event(0), event(1), event(2, offset=8)]
    odd = {"source": "orders", "partition": 0}
    lines += [{**odd, "offset": 9, "raw": "no {json"}, {**odd, "offset": 10, "control": {"end": 1}}]
    lines += [{**odd, "offset": 11, "control": {"end": True}}]
    found = list(read_records(write(shop / "few.jsonl", lines), load_pipeline(shop / "orders.yml")))
    assert [(one.part, one.partition) for one in found] == [(0, 0), (0, 1), (0, 0), (0, 0), (0, 0)]
    assert found[3].value == b"no {json"
    assert json.loads(found[4].control or b"") == {"end": 1}  # no end: a dead letter


def test_values_alone_go_to_the_partitions_in_turn_or_by_a_field(shop: Path) -> None:
    pipeline = load_pipeline(shop / "orders.yml")
    values = [{**value(number), "shop": f"s{number % 5}"} for number in range(50)]
    file = write(shop / "values.jsonl", values)
    file.write_text(file.read_text() + "\n")  # an empty line is no record
    in_turn = list(read_records(file, pipeline))
    assert [one.partition for one in in_turn] == [number % 2 for number in range(50)]
    assert [json.loads(one.value or b"") for one in in_turn] == values
    by_shop: dict[str, set[int]] = {}
    for one in read_records(file, pipeline, partition_by="shop"):
        by_shop.setdefault(json.loads(one.value or b"")["shop"], set()).add(one.partition)
    assert all(len(partitions) == 1 for partitions in by_shop.values())
    assert set().union(*by_shop.values()) == {0, 1}


def test_a_generator_is_found_beside_the_plan_and_asked_for_so_many(shop: Path) -> None:
    (shop / "shopgen.py").write_text(
        textwrap.dedent(
            """
            from itertools import count

            def orders(seed):
                for number in count(seed):
                    yield {"at": number, "shop": "a", "amount": 1}

            def values_of_something_else(seed):
                yield 5

            def nothing(seed):
                return []

            def quits(seed):
                raise SystemExit(7)
            """
        )
    )
    made = PLAN.replace("events: events.jsonl", "python: shopgen:orders, records: 70")
    found = ordered(shop, made)
    assert [json.loads(one.value or b"")["at"] for one in found] == [*range(3, 73)]
    for name, why in (
        ("values_of_something_else", "yields 5, and a record is a dict"),
        ("nothing", "yields nothing with seed 3"),
        ("quits", r"failed: SystemExit: 7"),
        ("missing", "failed: AttributeError"),
    ):
        assert why in refused(shop, made.replace("shopgen:orders", f"shopgen:{name}"))


def test_control_records_call_the_lanes_by_their_names_there(shop: Path) -> None:
    users = load_pipeline(shop / "orders.yml")
    own = own_pipeline(shop / "orders.yml", "run", topic="t")
    control = b'{"now":5,"seen":{"orders/1":4,"elsewhere/0":3}}'
    sent = [
        WorkloadRecord(0, 0, None, control),
        WorkloadRecord(0, 0, None, b'{"seen":7}'),
        WorkloadRecord(0, 1, b"{}", None),
    ]
    moved = in_its_lanes(cut(sent, users), users, own).body
    assert read_control(moved[0].control or b"") == Observation(5, {"t/1": 4, "elsewhere/0": 3})
    assert list(moved[1:]) == sent[1:]


@pytest.mark.parametrize(
    "disorder",
    [
        "{heartbeat: {orders/0: {max_delay: 2 s}, orders/1: {max_delay: 3 s}}}",
        "{ordered_per: {attr: shop, members: {orders/0: [a], orders/1: []}}}",
        "{slack: 5 s}",
    ],
)
def test_a_pipeline_keeps_its_meaning_under_another_topic(tmp_path: Path, disorder: str) -> None:
    """Generators that name lanes used to fail: the lanes have other names in the copy."""
    (tmp_path / "p.yml").write_text(
        SHOP.replace(
            "{heartbeat: {orders/0: {max_delay: 2 s}, orders/1: {max_delay: 2 s}}}", disorder
        )
        + "quality: []\n"
    )
    own = own_pipeline(tmp_path / "p.yml", "run", topic="elsewhere")
    back = parse_pipeline(own.text.replace("elsewhere", "orders"))
    assert back.fingerprint == load_pipeline(tmp_path / "p.yml").fingerprint
    assert own.source.topic == "elsewhere"


@pytest.mark.parametrize(
    ("rule", "believe", "queries"),
    [
        ("none", "bounds", 100),
        ("{believe: none, key: CONTROL_KEY}", "bounds", 100),
        ("bounds", "bounds", 100),
        ("{believe: bounds, key: CONTROL_KEY}", "bounds", 100),
        ("{believe: all, queries: 3}", "all", 3),
        ("{believe: all, queries: 3, key: CONTROL_KEY}", "all", 3),
    ],
)
def test_a_copy_believes_the_ends_that_chaos_writes(
    rule: str, believe: str, queries: int, tmp_path: Path
) -> None:
    """Unsigned, or refused by `control: none`, they used to leave its windows open for ever."""
    (tmp_path / "p.yml").write_text(
        SHOP.replace("partitions: 2", f"partitions: 2\n  control: {rule}")
    )
    users = load_pipeline(tmp_path / "p.yml")
    own = own_pipeline(tmp_path / "p.yml", "run", topic="t")
    assert own.source.control == ControlRule(believe=believe, queries=queries)  # type: ignore[arg-type]
    for number, end in enumerate(cut([], own).ends):
        lane = lanes_of(own.source, None)[number]
        assert end.control is not None
        assert ValueReader(own, number).control(end.control, None, lane) == "end"
    # Where the log stays the user's, so does the rule.
    assert own_pipeline(tmp_path / "p.yml", "run").source.control == users.source.control


def test_both_sides_of_a_join_believe_the_ends(tmp_path: Path) -> None:
    text = (ROOT / "pipelines" / "departures_weather.yml").read_text()
    document = yaml.safe_load(text)
    for side in ("left", "right"):
        document["join"][side]["source"]["control"] = "none"
    (tmp_path / "p.yml").write_text(yaml.safe_dump(document))
    own = own_pipeline(tmp_path / "p.yml", "run", topic="t")
    assert [part.control.believe for part in own.source.parts] == ["bounds", "bounds"]


def test_lanes_that_joined_are_named_by_their_new_topic(tmp_path: Path) -> None:
    joined = SHOP.replace("partitions: 2", "partitions: 2\n  joined: {orders/1: {lane: 1}}")
    (tmp_path / "p.yml").write_text(joined)
    own = own_pipeline(tmp_path / "p.yml", "run", topic="t")
    assert [lane.name for lane in own.source.added_lanes] == ["t/1"]


def test_flights_of_a_join_come_in_the_order_of_their_arrival() -> None:
    pipeline = load_pipeline(ROOT / "pipelines" / "departures_weather.yml")
    log = departed(Workload(flights=300, data="departures", max_offsets=10), pipeline)
    parts = [one.part for one in log]
    assert parts.count(0) == 300
    assert parts not in (sorted(parts), sorted(parts, reverse=True))


# --- what is refused at once -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "line", "rule"),
    [
        ("orders.yml", "gone.yml", 2, "gone.yml: cannot be read: No such file or directory; the"),
        ("events.jsonl", "gone.jsonl", 3, "gone.jsonl"),
        ("events: events.jsonl", "flights: 500", 3, "flights have 3 partitions, and the pipeline"),
        ("max_offsets: 10", "max_offsets: 100", 3, "200 records at 100 offsets a batch are 2 batc"),
        ("max_offsets: 10", "max_offsets: 10, records: 40", 3, "40 records at 10 offsets a batch"),
        ("events.jsonl,", "events.jsonl, partition_by: shop,", 3, "take partition_by out"),
        ("kill_executor", "disconnect_broker", 5, "run it with --stack containers"),
        ("kill_executor", "lose_packets", 5, "run it with --stack containers"),
        ("kill_executor", "add_partition", 5, "the generator names every lane"),
        (
            "name: shop",
            "name: shop\nbrokers: 3",
            2,
            "3 brokers require containers, local processes have one",
        ),
    ],
)
def test_a_plan_that_cannot_work_is_refused(
    shop: Path, old: str, new: str, line: int, rule: str
) -> None:
    assert old in PLAN
    said = refused(shop, PLAN.replace(old, new))
    assert f"plan.yml:{line}: " in said
    assert rule in said


def test_faults_are_refused_by_what_the_pipeline_is(shop: Path) -> None:
    (shop / "orders.yml").write_text(
        SHOP.replace("partitions: 2", "partitions: 1\n  compacted: true").replace(
            "{heartbeat: {orders/0: {max_delay: 2 s}, orders/1: {max_delay: 2 s}}}", "{slack: 1 s}"
        )
    )
    faults = "- {fault: compact_topic, expect: named}\n  - silent_partition"
    said = refused(shop, PLAN.replace("- kill_executor", faults))
    assert "the pipeline says compacted: true" in said
    assert "there is one only" in said
    join = PLAN.replace("orders.yml", str(ROOT / "pipelines" / "departures_weather.yml"))
    said = refused(shop, join.replace("kill_executor", "poison_records"))
    assert "works on one topic, and the pipeline joins departures and weather" in said


def test_faults_of_airflow_need_the_stack_of_processes(shop: Path) -> None:
    said = refused(shop, PLAN.replace("kill_executor", "kill_airflow_task"), kind="containers")
    assert "kill_airflow_task has no victim on the stack 'containers'" in said


def test_three_brokers_have_no_proxy_before_them(shop: Path) -> None:
    plan = PLAN.replace("name: shop", "name: shop\nbrokers: 3")
    said = refused(shop, plan.replace("kill_executor", "cut_network"), kind="containers")
    assert "cut_network needs a proxy" in said


def test_records_of_another_pipeline_are_refused_with_what_is_wrong(shop: Path) -> None:
    write(shop / "values.jsonl", [{"time": number, "who": "a"} for number in range(200)])
    said = refused(shop, PLAN.replace("events.jsonl", "values.jsonl"))
    assert "200 of 200 records would be dead letters (missing_event_time 200)" in said
    assert "the pipeline reads at and shop, amount, coupon" in said


def test_some_bad_records_are_what_a_log_has(shop: Path) -> None:
    lines = [event(number) for number in range(200)]
    for line in lines[::3]:
        line["value"] = {}
    write(shop / "events.jsonl", lines)
    assert len(ordered(shop)) == 200


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "holds no record"),
        ("a,b,c\n1,2,3\n", ":1: neither a line of EVENTS.jsonl nor a JSON object"),
        ('{"source":"x","partition":0,"offset":0,"value":{}}\n', "the pipeline reads orders/0"),
        ('{"source":"orders","partition":2,"offset":0,"value":{}}\n', "does not declare"),
        ('{"source":"orders","partition":0,"offset":0,"control":{"end":true}}\n', "no record"),
    ],
)
def test_a_file_that_is_no_log_of_the_pipeline_is_refused(
    shop: Path, content: str, why: str
) -> None:
    (shop / "events.jsonl").write_text(content)
    assert why in refused(shop, PLAN)


def test_values_of_a_join_do_not_say_whose_they_are(shop: Path) -> None:
    join = load_pipeline(ROOT / "pipelines" / "departures_weather.yml")
    file = write(shop / "values.jsonl", [value(1)])
    with pytest.raises(EventsFileError, match="of a join each must say of which topic"):
        read_records(file, join)


def test_an_endless_log_is_refused_and_a_part_of_it_taken(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaos.workload.origin.RECORDS_MAX", 150)
    assert "more than 150, which is what a plan can send" in refused(shop, PLAN)
    assert len(ordered(shop, PLAN.replace("max_offsets", "records: 140, max_offsets"))) == 140
    assert RECORDS_MAX == 1_000_000


@pytest.mark.parametrize(
    ("workload", "rule"),
    [
        ("{max_offsets: 10}", "exactly one of flights, events, topic, python says what is sent"),
        ("{flights: 500, events: e.jsonl, max_offsets: 10}", "and here is flights and events"),
        ("{events: e.jsonl, from: {0: 1}, max_offsets: 10}", "from means nothing to events"),
        ("{python: 'm:f', max_offsets: 10}", "a generator may never end"),
        ("{python: m, records: 9, max_offsets: 10}", "'m' names no function"),
        ("{topic: t, from: {0: -1}, max_offsets: 10}", "are no offsets"),
        ("{topic: t, to: noon, max_offsets: 10}", "noon"),
        ("{flights: 500, records: 5, max_offsets: 10}", "records means nothing to flights"),
        ("{events: e.jsonl, data: departures, max_offsets: 10}", "data means nothing to events"),
    ],
)
def test_a_workload_says_one_thing(workload: str, rule: str) -> None:
    with pytest.raises(PipelineError) as raised:
        parse_plan(PLAN.replace("{events: events.jsonl, max_offsets: 10}", workload), "plan.yml")
    assert "plan.yml:3: workload" in str(raised.value)
    assert rule in str(raised.value)


def test_the_command_refuses_before_anything_is_made(shop: Path) -> None:
    (shop / "plan.yml").write_text(PLAN.replace("kill_executor", "disconnect_broker"))
    places = ["--state-dir", str(shop / "state"), "--report", str(shop / "report")]
    answer = CliRunner().invoke(app, ["chaos", "run", str(shop / "plan.yml"), *places])
    assert isinstance(answer.exception, PipelineError)
    assert answer.exception.exit_code == 2
    assert not (shop / "state").exists()
    assert not (shop / "report").exists()


def test_every_plan_of_ours_fits_its_pipeline() -> None:
    for file in sorted((ROOT / "chaos" / "plans").rglob("*.yml")):
        if file.parent.name != "pipelines" and kind_of(file) == "faults":
            own = file.parent.name
            fitting_faults(file, own if own in ("containers", "yarn") else "local")
    join = ROOT / "chaos" / "plans" / "join.yml"
    assert make_order(join, join, seed=1, kind="local", bootstrap=str).records


def test_a_generator_that_fails_is_the_users_error() -> None:
    origin = Origin(
        Workload(python="no_such_module:f", records=5, max_offsets=10),
        parse_pipeline(SHOP),
        Path(),
        1,
        str,
    )
    with pytest.raises(GeneratorError, match="the module is looked for in"):
        origin.records()


def test_a_shadow_of_a_users_pipeline_is_shown_wherever_one_stands(
    shop: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files by relative paths, far from any checkout; a range of the log."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    old, events = (os.path.relpath(shop / name) for name in ("orders.yml", "events.jsonl"))
    Path("new.yml").write_text(
        SHOP.replace("orders: count, ", "orders: count, most: max(amount), ")
    )
    command = ["replay", old, "--shadow", "new.yml", "--input", events, "--report", "report"]
    answer = CliRunner().invoke(app, [*command, "--to", '{"0": 40}'])
    assert answer.exit_code == 0, answer.output
    found = json.loads(Path("report/shadow.json").read_text())
    assert (found["old"], found["new"], found["records"]) == ("shop", "shop", 140)
    assert found["dead_letters"] == {"before": {}, "after": {}}
    # By its name, where pipelines are kept.
    Path("pipelines").mkdir()
    Path("pipelines/orders.yml").write_text(SHOP)
    answer = CliRunner().invoke(app, ["replay", "--shadow", "new.yml", "--input", events])
    assert answer.exit_code == 0, answer.output
