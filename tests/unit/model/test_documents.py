"""Files that are no pipeline, or too much of one: one sentence with file and line, soon."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from chaos.plan import parse_plan
from tests.bounds import within
from windowing.model import PipelineError, load_pipeline, parse_pipeline
from windowing.model.file.documents import read_text
from windowing.model.file.yaml_lines import BYTES_MAX, DEPTH_MAX, LIMITS, NODES_MAX, load_with_lines

GOOD = """\
name: p
source:
  topic: s
  partitions: 1
  format: json
  event_time: {field: ts, unit: us, min: "1970-01-01"}
  fields: {v: int}
  disorder: {slack: 1 second}
queries:
  q: {window: RANGE 1 hour SLIDE 1 hour WATTR ts, aggregates: {n: count}}
"""
BOMB = "a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)
LONG = "x" * 5000

HOSTILE = {
    "aliases of aliases": (BOMB, r":\d+: .*aliases counted"),
    "aliases of aliases, merged": (
        BOMB.replace("[1, 2, 3, 4, 5, 6, 7, 8, 9]", "{k: 1}")
        .replace("[*", "{<<: [*")
        .replace("]\n", "]}\n"),
        r":\d+: ",
    ),
    "an alias of itself": ("a: &a\n  - *a\n", ":2: an alias inside of what it stands for"),
    "an alias of itself, merged": ("a: &a\n  <<: *a\n", ":2: "),
    "an impossible date": (GOOD.replace('"1970-01-01"', "2024-02-30"), r":6: .*2024-02-30.*day"),
    "an impossible time": ("name: 2024-01-01 25:00:00\n", ":1: .*hour must be"),
    "NUL": (GOOD.replace("name: p", "name: p\0"), r":1: not YAML: the character U\+0000"),
    "ESC": (GOOD.replace("topic: s", "topic: \x1b[2J"), r":3: not YAML: the character U\+001B"),
    "!!int abc": (GOOD.replace("partitions: 1", "partitions: !!int abc"), ":4: 'abc' is no int"),
    "!!float": (GOOD.replace("partitions: 1", "partitions: !!float x"), ":4: 'x' is no float"),
    "!!bool": (GOOD.replace("partitions: 1", "partitions: !!bool x"), ":4: 'x' is no bool"),
    "!!int of nothing": ("name: !!int ''\n", ":1: '' is no int"),
    "!!int of a list": ("name: !!int [1]\n", ":1: "),
    "!!map of a text": ("name: !!map x\n", ":1: "),
    "!!timestamp of a text": ("name: !!timestamp x\n", ":1: "),
    "!!binary": ("name: !!binary Li4vLi4v\n", ":1: !!binary is a kind of value"),
    "!!set": ("name: !!set {a: null}\n", ":1: !!set is a kind"),
    "!!python": ("name: !!python/object:os.system x\n", ":1: "),
    "a tag of one's own": ("name: !mine x\n", ":1: !mine is a kind"),
    "5,000 digits": (GOOD.replace("partitions: 1", f"partitions: {'9' * 5000}"), ":4: "),
    "500 bits": (GOOD.replace("partitions: 1", f"partitions: {'9' * 500}"), ":4: "),
    "a long text": (GOOD.replace("name: p", f"name: {LONG}"), ":1: "),
    "500 brackets": ("[" * 500, f"{DEPTH_MAX} deep"),
    "100,000 brackets": ("[" * 100_000, f"{DEPTH_MAX} deep"),
    "500 closed braces": ("a: " + "{a: " * 500 + "}" * 500, f"{DEPTH_MAX} deep"),
    "dashes": ("- " * 100_000, f"{DEPTH_MAX} deep"),
    "question marks": ("? " * 100_000, "a key is a text|deep"),
    "a text of 10,000 characters": (
        GOOD.replace("{n: count}", f"{{n: '{'c' * 10_000}'}}"),
        ":10: .*at most 8,192",
    ),
    "many keys": ("[" + "1," * (NODES_MAX + 1) + "]", f"{NODES_MAX:,} keys"),
    "a huge file": ("# comment\n" * (BYTES_MAX // 9), f"at most {BYTES_MAX // 1024} KiB"),
    "a key twice": (GOOD + "name: q\n", r":11: name: given twice \(first on line 1\)"),
    "a key twice, deep": (GOOD.replace("{v: int}", "{v: int, v: int}"), ":7: source.fields.v: giv"),
    "a key that is a list": ("? [a]\n: b\n", ":1: a key is a text"),
    "a merge of a text": ("<<: x\n", ":1: << takes a mapping"),
    "tabs": ("name: p\nsource:\n\ttopic: s\n", ":3: not YAML: .*indent with spaces"),
    "an undefined alias": ("a: *b\n", ":1: not YAML: found undefined alias"),
    "two documents": ("a: 1\n---\nb: 1\n", ":2: not YAML: "),
    "a question mark in braces": (
        GOOD.replace("{v: int}", "{v: int?}"),
        r':7: not YAML: .*quote it, as: fields: \{v: "int\?"\}',
    ),
    "a list": ("- a\n", ":1: a pipeline file is a mapping"),
    "nothing": ("", ":1: a pipeline file is a mapping"),
    "a surrogate": ("name: \ud800\n", ":1: "),
    "an escaped surrogate": ('name: "\\ud800"\n', ":1: "),
    "many problems": (GOOD + "".join(f"k{i}: 1\n" for i in range(9000)), "8,980 problems more"),
}
"""What stands in the file, and what is said."""


@pytest.mark.parametrize(("text", "said"), HOSTILE.values(), ids=HOSTILE)
def test_what_cannot_be_read_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(PipelineError) as raised, within(12):
        parse_pipeline(text, "p.yml", LIMITS)
    first = str(raised.value).splitlines()[0]
    assert first.startswith("p.yml")
    assert re.search(said, str(raised.value))
    assert len(first) < 1000
    assert all(line.isprintable() for line in str(raised.value).splitlines())


@pytest.mark.parametrize("text", [text for text, _ in HOSTILE.values()], ids=HOSTILE)
def test_plans_are_read_with_the_same_care(text: str) -> None:
    with pytest.raises(PipelineError, match=r"^plan.yml"):
        parse_plan(text, "plan.yml")


def test_aliases_anchors_and_merges_that_are_not_too_many_may_stand_in_a_file() -> None:
    text = GOOD.replace("fields: {v: int}", "fields: &f {v: int}").replace(
        "{n: count}", "{n: count, m: sum(v)}"
    )
    shared = text.replace("unit: us,", "<<: {unit: us},")
    assert parse_pipeline(shared).source == parse_pipeline(text).source


@pytest.mark.parametrize("bad", ["missing", "folder", "bytes", "large", "name"])
def test_a_file_that_is_no_text_is_named(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "p.yml"
    if bad == "folder":
        path.mkdir()
    if bad == "bytes":
        path.write_bytes(GOOD.encode() + b"# caf\xe9\n")
    if bad == "large":
        with path.open("wb") as file:
            file.truncate(1 << 40)
    if bad == "name":
        path = Path("a\0b")
    with pytest.raises(PipelineError, match=r"p\.yml|a.*b") as raised:
        read_text(path)
    assert ":11: is not UTF-8" in str(raised.value) or bad != "bytes"


@pytest.mark.parametrize("case", ["aliases of aliases", "!!int abc", "500 brackets", "a huge file"])
def test_validate_ends_soon_with_two_and_little_memory(tmp_path: Path, case: str) -> None:
    path = tmp_path / "p.yml"
    path.write_text(HOSTILE[case][0])

    # Started by its own process: a large parent would count as the memory of its child.
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, "validate", str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "1000"},
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert str(path) in done.stderr
    assert int(done.stdout) < 300_000, "kilobytes"


_MEASURED = """
import resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
command = [sys.executable, "-m", "slackwater.main", *sys.argv[1:]]
code = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


NAMES = {
    "name": GOOD.replace("name: p", "name: NAME"),
    "source.topic": GOOD.replace("topic: s", "topic: NAME"),
    "sink.table": GOOD + "sink: {table: NAME}\n",
    "sink.postgres": GOOD + "sink: {postgres: NAME}\n",
    "queries.NAME": GOOD.replace("q: {window", "NAME: {window"),
}
LONGEST = {
    "name": 200,
    "source.topic": 249,
    "sink.table": 200,
    "sink.postgres": 63,
    "queries.NAME": 128,
}


@pytest.mark.parametrize("place", NAMES)
@pytest.mark.parametrize(
    "name",
    [
        *("'.'", "'..'", "../../x", "a/b", "'-a'", "''", "'a b'", "ä", "1", "[a]", "null", ".a"),
        *("2024-01-01", r'"a\0"', r'"a\n"', "!!binary Li4vLi4vLi4=", "x:y", "'%'"),
    ],
)
def test_a_name_is_a_short_text_of_harmless_characters(place: str, name: str) -> None:
    with pytest.raises(PipelineError):
        parse_pipeline(NAMES[place].replace("NAME", name))


@pytest.mark.parametrize("place", NAMES)
def test_a_name_has_a_longest_length(place: str) -> None:
    most = LONGEST[place]
    parse_pipeline(NAMES[place].replace("NAME", "x" * most))
    with pytest.raises(PipelineError, match=f"a name here has {most} at the most"):
        parse_pipeline(NAMES[place].replace("NAME", "x" * (most + 1)))


@pytest.mark.parametrize("name", ["metrics", "dead_letters", "commits", "tokens"])
@pytest.mark.parametrize("sink", ["", "sink: {table: t}\n", "sink: {postgres: t}\n"])
def test_a_query_cannot_be_called_as_a_table_of_the_sink(name: str, sink: str) -> None:
    text = NAMES["queries.NAME"].replace("NAME", name) + sink
    with pytest.raises(PipelineError, match=f"has a table '{name}' of its own"):
        parse_pipeline(text)


@pytest.mark.parametrize(
    "schedule",
    [
        *("nonsense", "* * * *", "* * * * * *", "60 * * * *", "*/0 * * * *", "0 0 31 2 *"),
        *("R R * * *", "H * * * *", "", "@once", "5", "null", "[1]", "2024-01-01", "é * * * *"),
    ],
)
def test_a_schedule_is_continuous_or_a_cron_expression_that_comes_true(schedule: str) -> None:
    quoted = f'"{schedule}"' if " " in schedule or "@" in schedule else schedule
    with pytest.raises(PipelineError, match=r"schedule"):
        parse_pipeline(f"{GOOD}schedule: {quoted}\n")


@pytest.mark.parametrize(
    "schedule",
    ["continuous", "@daily", "*/15 * * * *", "0 5 * * MON-FRI", "0 0 29 2 *", "0 0 L * *"],
)
def test_schedules_of_airflow_are_taken(schedule: str) -> None:
    assert parse_pipeline(f'{GOOD}schedule: "{schedule}"\n').schedule == schedule


def test_a_pipeline_without_a_sink_has_its_name_for_a_table(tmp_path: Path) -> None:
    path = tmp_path / "p.yml"
    path.write_text(GOOD)
    assert load_pipeline(path).output == "p"
    assert parse_pipeline(NAMES["sink.table"].replace("NAME", "t")).output == "t"


@pytest.mark.parametrize(
    ("line", "corrected"),
    [
        ("{user: string?}", '{user: "string?"}'),
        ("{v: int, user: string? , w: int?}  # why?", '{v: int, user: "string?" , w: "int?"}'),
        ("{v: 'int?', w: int?}", "{v: 'int?', w: \"int?\"}"),
        ("{\n  v: int?}", 'v: "int?"}'),
    ],
)
def test_a_type_that_may_be_null_is_shown_quoted(line: str, corrected: str) -> None:
    """L17: the line as it has to be, and it is one that can be read."""
    text = f"fields: {line}\n"
    with pytest.raises(PipelineError) as caught:
        load_with_lines(text, "p.yml")
    assert "quote it, as: " in str(caught.value)
    assert corrected in str(caught.value)
    whole = corrected if line.startswith("{\n") is False else "{" + corrected
    assert load_with_lines(f"fields: {whole}\n", "p.yml")[0]["fields"]


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("{n: count}", f"{{n: count{' ' * 4000}x}}"),
        GOOD.replace("{n: count}", f"{{n: '{'(' * 4000}'}}"),
        GOOD.replace("{n: count}", f"{{n: 'sum({'v,' * 2000}'}}"),
        GOOD.replace("1 second", f"1{' ' * 4000}second!"),
        GOOD.replace("RANGE 1 hour", f"RANGE 1{' ' * 3500}hou"),
        GOOD.replace("RANGE 1 hour", f"RANGE {'1 ' * 1900}"),
    ],
)
def test_a_long_text_is_read_in_no_time(text: str) -> None:
    with pytest.raises(PipelineError), within(1):
        parse_pipeline(text)


def test_tables_are_tended_if_the_file_says_when() -> None:
    assert parse_pipeline(GOOD).upkeep is None
    upkeep = parse_pipeline(GOOD + 'upkeep: {schedule: "@daily"}\n').upkeep
    assert upkeep is not None
    assert (upkeep.schedule, upkeep.retention) == ("@daily", timedelta(days=7))
    upkeep = parse_pipeline(GOOD + 'upkeep: {schedule: "5 * * * *", retention: 36 hours}\n').upkeep
    assert upkeep is not None
    assert upkeep.retention == timedelta(hours=36)


def test_upkeep_leaves_the_meaning_as_it_is() -> None:
    tended = parse_pipeline(GOOD + 'upkeep: {schedule: "@daily"}\n')
    assert tended.fingerprint == parse_pipeline(GOOD).fingerprint


@pytest.mark.parametrize(
    ("section", "rule"),
    [
        ("{schedule: continuous}", "upkeep is due at times"),
        ("{schedule: often}", "neither continuous nor a cron expression"),
        ("{}", "schedule"),
        ('{schedule: "@daily", retention: 5 minutes}', "out of range"),
        ('{schedule: "@daily", retention: 5 rows}', "not a length of time"),
        ('{schedule: "@daily", keep: 1 day}', "keep"),
    ],
)
def test_every_key_has_a_rule(section: str, rule: str) -> None:
    with pytest.raises(PipelineError, match=rule):
        parse_pipeline(f"{GOOD}upkeep: {section}\n", "p.yml")


def test_other_sinks_have_no_files_to_tend() -> None:
    with pytest.raises(PipelineError, match=r"upkeep is for sink: {table: NAME}; postgres has no"):
        parse_pipeline(GOOD + 'sink: {postgres: p}\nupkeep: {schedule: "@daily"}\n')


_N = "aggregates: {n: count}}\n  q: {"
WRONG = {
    "mn": ('min: "1970', 'mn: "1970', "event_time.mn: unknown key 'mn': did you mean 'min'?"),
    "type": ("{v: int}", "{v: int, k: strng}", "'strng' is not a type: did you mean 'string'?"),
    "slck": ("slack:", "slck:", "is not a generator: did you mean 'slack'?"),
    "shrads": ("queries:", "shrads: 4\nqueries:", "shrads: unknown key 'shrads': did you mean"),
    "nobody's": ("queries:", "zzz: 4\nqueries:", "correct its spelling or take it out; known are"),
    "window": ("q: {", f"w: {{window: RANGE 1 hor SLIDE 1 h WATTR ts, {_N}", "w.w"),
    "clause": ("q: {", f"c: {{window: {{rnge: 1 h, wattr: ts}}, {_N}", "did you mean 'RANGE'"),
    "windw": ("q: {", f"k: {{windw: RANGE 1 h SLIDE 1 h WATTR tz, {_N}", "k.window: E_ATTR"),
    "aggregate": ("{n: count}", "{n: cuont, m: mean(w), o: sum(vv)}", "did you mean 'count'?"),
    "key": ("aggregates: {n", "group_by: [v, x, y], aggregates: {n", "E_ATTR_UNKNOWN: 'y'"),
}


def with_mistakes(*names: str) -> str:
    text = GOOD
    for name in names:
        before, after, _ = WRONG[name]
        assert before in text
        text = text.replace(before, after, 1)
    return text


@pytest.mark.parametrize(
    "others", [[], ["mn"], ["type"], ["slck", "shrads"], ["windw", "nobody's"]]
)
@pytest.mark.parametrize("name", WRONG)
def test_each_mistake_is_named_whatever_else_is_wrong(name: str, others: list[str]) -> None:
    names = [one for one in (name, *others) if one != "clause"] + ["clause"] * (name == "clause")
    with pytest.raises(PipelineError) as found:
        parse_pipeline(with_mistakes(*dict.fromkeys(names)), "p.yml")
    for one in names:
        assert WRONG[one][2] in str(found.value)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "q: {",
            f"c: {{window: {{zzz: 1 h}}, {_N}",
            "clause 'zzz'; known are RANGE, SLIDE",
        ),
        ("slack: 1 second", "adaptive: {zzz: 1}", "unknown key 'zzz'; known are late, over"),
    ],
)
def test_an_unknown_name_comes_with_the_known_ones(before: str, after: str, said: str) -> None:
    with pytest.raises(PipelineError) as found:
        parse_pipeline(GOOD.replace(before, after), "p.yml")
    assert said in str(found.value)


def test_a_field_has_no_name_of_metadata() -> None:
    with pytest.raises(PipelineError, match=r"'\$key' is metadata of every record"):
        parse_pipeline(GOOD.replace("{v: int}", '{v: int, "$key": string}'))


def test_all_mistakes_of_a_query_are_named() -> None:
    with pytest.raises(PipelineError) as found:
        parse_pipeline(with_mistakes("aggregate", "key", "window"))
    fields = {one.field.removeprefix("queries.") for one in found.value.problems}
    assert fields == {
        "w.window",
        *(f"q.aggregates.{n}" for n in "nmo"),
        "q.group_by.1",
        "q.group_by.2",
    }


OPERATORS = """\
name: p
source:
  {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us},
   fields: {g: string, v: int}, disorder: ordered}
early: {every: 1 s}
queries:
  one:
    operator: aggregate
    window: TUMBLING zzz(3)
    group_by: [g, h, g]
    aggregates: {a: sum(g), b: total(v), c: count}
    by: [v]
    accumulation: retracting
  chain:
    steps:
      - {operator: sort, by: [w], window: SLIDING count(2), punctuate: {when: "g = 3"}}
      - {operator: dedupe, by: [v], window: SLIDING count(2)}
      - {operator: "python:m:C", window: SLIDING zzz(2)}
"""


def test_all_mistakes_of_operators_are_named() -> None:
    with pytest.raises(PipelineError) as found:
        parse_pipeline(OPERATORS, "p.yml")
    assert {(one.line, one.field) for one in found.value.problems} == {
        (5, "early"),
        (9, "queries.one.window"),
        (10, "queries.one.group_by.1"),
        (10, "queries.one.group_by.2"),
        (11, "queries.one.aggregates.a"),
        (11, "queries.one.aggregates.b"),
        (12, "queries.one.by"),
        (13, "queries.one.accumulation"),
        (16, "queries.chain.steps.0.by"),
        (16, "queries.chain.steps.0.punctuate"),
        (17, "queries.chain.steps.1.operator"),
        (18, "queries.chain.steps.2.window"),
        (18, "queries.chain.steps.2.outputs"),
    }


SIDE = """{window: WINDOW, source: {topic: T, partitions: 1, format: json,
    event_time: {field: ts, unit: us}, fields: {g: string, v: int, x: float}, disorder: ordered}}"""


def test_all_mistakes_of_a_join_are_named() -> None:
    left, right = (
        SIDE.replace("WINDOW", window).replace("T,", f"{topic},")
        for topic, window in (("l", "SLIDING count(2)"), ("r", "SLIDING count(3)"))
    )
    text = (
        f"name: p\njoin:\n  left: {left}\n  right: {right}\n  equal: [g]\n"
        "  select: {a: left.v}\nlate: {policy: update, every: 1 s}\nretention: {windows: 3}\n"
    )
    with pytest.raises(PipelineError) as found:
        parse_pipeline(text, "p.yml")
    assert {one.field for one in found.value.problems} == {
        *("join.left.window", "join.right.window", "late", "retention")
    }
    odd = text.replace("equal: [g]", "equal: [x, zz]").replace("left.v", "left.zzz")
    with pytest.raises(PipelineError) as found:
        parse_pipeline(odd, "p.yml")
    for each in ("x is float, x is float", "'zz' is not under fields", "'zzz' is not under fields"):
        assert each in str(found.value)


@pytest.mark.parametrize("text", ["queries: 3", "source: []", "queries: {q: 1}", "[]", ""])
def test_what_nobody_can_put_right_is_one_sentence_too(text: str) -> None:
    for more in ("", "\nupkeep: 3\nlate: [1]\nnobody: {}\nsources: 2\n"):
        with pytest.raises(PipelineError):
            parse_pipeline(f"{text}{more}")


@pytest.mark.parametrize(
    ("length", "said"),
    [
        ("1 week", "7 days; .* RANGE 1 week … ZONE"),
        ("3 months", "RANGE 1 month … ZONE"),
        ("1 year", "RANGE 1 year … ZONE"),
    ],
)
def test_units_of_the_calendar_are_refused_with_a_way_out(length: str, said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        parse_pipeline(GOOD.replace("RANGE 1 hour", f"RANGE {length}"))


def test_weeks_begin_on_mondays_as_the_page_says() -> None:
    text = GOOD.replace(
        "RANGE 1 hour SLIDE 1 hour WATTR ts", "RANGE 7 days SLIDE 7 days WATTR ts ORIGIN 4 days"
    )
    ((window,),) = ([window] for window in parse_pipeline(text).windows)
    monday = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=window.origin)
    assert monday.strftime("%A") == "Monday"
