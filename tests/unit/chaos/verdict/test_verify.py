"""`verify` on tiny outputs, most of which must fail."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from hypothesis import given
from hypothesis import strategies as st

from chaos.readers.delta import read_tables
from chaos.readers.log import read_events
from chaos.readers.output import OutputError, read_files
from chaos.verdict.verify import Verdict, verify, with_records
from tests.strategies import Case, Entry, cases, entry
from windowing.model import Pipeline, load_pipeline, parse_pipeline
from windowing.model.fates import Counts
from windowing.model.rows import Row, dead_letter_lines, row_lines
from windowing.semantics import Outcome, evaluate

DATA = Path(__file__).parents[3] / "data" / "pipelines"
CASES = sorted(folder for folder in DATA.iterdir() if folder.is_dir())

PIPELINE = """
name: p
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {k: string, x: "float?"}
  disorder: ordered
queries:
  w:
    window: RANGE 10 us SLIDE 10 us WATTR ts
    group_by: [k]
    aggregates: {n: count, sum: sum(x)}
  all:
    window: RANGE 20 us SLIDE 20 us WATTR ts
    late: {policy: update, every: 5 us}
    retention: 1 s
    aggregates: {n: count}
"""
P = parse_pipeline(PIPELINE)
WHOLE = "lost 0, duplicated 0, differing 0"


def data(partition: int, offset: int, ts: int, k: str = "a", x: float | None = 0.5) -> Entry:
    value = json.dumps({"ts": ts, "k": k, "x": x}).encode()
    return Entry("s", partition, offset, value, None, None)


def end(partition: int, offset: int) -> Entry:
    return Entry("s", partition, offset, None, b'{"end":true}', None)


LOG = [
    data(0, 0, 1),
    data(0, 1, 25, "b"),
    data(0, 3, 7),  # late: the lane has passed 25
    data(1, 0, 3, "b", 2.0),
    data(1, 1, 4),
    Entry("s", 1, 2, b"poison", None, None),
    data(1, 3, 12, "a", None),
    end(0, 4),
    end(1, 4),
]
OUTCOME = evaluate(P, LOG)


def write(folder: Path, rows: list[str], dead: list[str]) -> Path:
    out = folder / "OUT.jsonl"
    out.write_text("".join(line + "\n" for line in rows), encoding="utf-8")
    letters = "".join(line + "\n" for line in dead)
    (folder / "OUT.dead.jsonl").write_text(letters, encoding="utf-8")
    return out


def judge(folder: Path, rows: list[str], dead: list[str] | None = None) -> Verdict:
    letters = list(dead_letter_lines(OUTCOME.dead)) if dead is None else dead
    return verify(P, LOG, read_files(write(folder, rows, letters)))


def lines() -> list[str]:
    return list(row_lines(OUTCOME.rows))


def test_the_history_has_everything_that_matters() -> None:
    assert [(r.query, r.window_id, r.key, r.revision, r.records) for r in OUTCOME.rows] == [
        ("all", 0, (), 0, 4),
        ("all", 0, (), 1, 5),
        ("all", 1, (), 0, 1),
        ("w", 0, ("a",), 0, 2),
        ("w", 0, ("b",), 0, 1),
        ("w", 1, ("a",), 0, 1),
        ("w", 2, ("b",), 0, 1),
    ]
    assert [(d.query, d.reason) for d in OUTCOME.dead] == [("w", "late"), (None, "malformed")]


# --- files -----------------------------------------------------------------------------------


def test_the_right_output_is_acquitted(tmp_path: Path) -> None:
    verdict = judge(tmp_path, lines())
    assert verdict.ok
    assert verdict.lines() == [
        "w: read 7 = applied 5 + outside 0 + dropped 0 + dead 2",
        "all: read 7 = applied 6 + outside 0 + dropped 0 + dead 1",
        "rows: 7 found, 7 expected",
        "dead letters: 2 found, 2 expected",
        WHOLE,
    ]


def test_a_lost_row(tmp_path: Path) -> None:
    verdict = judge(tmp_path, lines()[:-1])
    assert not verdict.ok
    assert verdict.lines()[-1] == "lost 1, duplicated 0, differing 0"
    assert 'smallest differing window: w window 2, key ["b"], revision 0' in verdict.lines()
    assert verdict.lines()[-2] == "  found    (nothing)"


def test_a_row_twice(tmp_path: Path) -> None:
    verdict = judge(tmp_path, [*lines(), lines()[0], lines()[0]])
    assert not verdict.ok
    assert verdict.lines()[-1] == "lost 0, duplicated 2, differing 0"


def test_a_changed_value_is_shown_with_both_rows(tmp_path: Path) -> None:
    rows = lines()
    wrong = rows[3].replace('"sum":1.0', '"sum":1.0000000000000002')
    verdict = judge(tmp_path, [*rows[:3], wrong, *rows[4:]])
    assert not verdict.ok
    assert verdict.lines()[-4:] == [
        'smallest differing window: w window 0, key ["a"], revision 0',
        f"  expected {rows[3]}",
        f"  found    {wrong}",
        "lost 0, duplicated 0, differing 1",
    ]


def test_the_smallest_differing_window_is_shown_with_its_records(tmp_path: Path) -> None:
    rows = lines()
    wrong = rows[3].replace('"sum":1.0', '"sum":2.0')
    verdict = with_records(judge(tmp_path, [*rows[:3], wrong, *rows[4:]]), P, LOG)
    assert verdict.lines()[-4:-1] == [
        "  its records by the definition: 2",
        '    partition 0, offset 0: {"ts": 1, "k": "a", "x": 0.5}',
        '    partition 1, offset 1: {"ts": 4, "k": "a", "x": 0.5}',
    ]
    invented = with_records(judge(tmp_path, [*rows, wrong.replace(":0,", ":99,", 1)]), P, LOG)
    assert "  its records by the definition: none, there is no such row" in invented.lines()
    assert with_records(judge(tmp_path, rows), P, LOG).records == ()


def test_other_bytes_for_the_same_value_differ(tmp_path: Path) -> None:
    rows = lines()
    verdict = judge(tmp_path, [rows[0].replace(":4", ": 4"), *rows[1:]])
    assert verdict.lines()[-1] == "lost 0, duplicated 0, differing 1"


def test_a_late_record_in_revision_0(tmp_path: Path) -> None:
    """The output of an engine that judges lateness by the stream's progress, not the lane's."""
    every, again, *rest = OUTCOME.rows
    on_time = [
        replace(again, pane="full", revision=0),
        *(
            replace(
                row, records=3, offsets={**row.offsets, "s/0": (0, 3)}, values={"n": 3, "sum": 1.5}
            )
            if (row.query, row.window_id, row.key) == ("w", 0, ("a",))
            else row
            for row in rest
        ),
    ]
    assert (every.records, again.records, len(on_time)) == (4, 5, 6)
    dead = [letter for letter in OUTCOME.dead if letter.reason != "late"]
    verdict = judge(tmp_path, list(row_lines(on_time)), list(dead_letter_lines(dead)))
    assert not verdict.ok
    # Lost are the late revision and the dead letter; two windows hold what they should not.
    assert verdict.lines()[-1] == "lost 2, duplicated 0, differing 2"


def test_a_row_that_should_not_be(tmp_path: Path) -> None:
    extra = lines()[-1].replace('"window_id":2', '"window_id":3')
    verdict = judge(tmp_path, [*lines(), extra])
    assert verdict.lines()[-1] == "lost 0, duplicated 0, differing 1"
    assert "  expected (nothing)" in verdict.lines()


def test_a_row_of_a_query_that_the_pipeline_does_not_have(tmp_path: Path) -> None:
    extra = lines()[-1].replace('"query":"w"', '"query":"\\u001b[31m"')
    assert extra != lines()[-1]
    verdict = judge(tmp_path, [extra, *lines()])
    assert verdict.lines()[-1] == "lost 0, duplicated 0, differing 1"


def test_an_identity_twice_with_other_bytes_is_both(tmp_path: Path) -> None:
    verdict = judge(tmp_path, [*lines(), lines()[0].replace('"records":4', '"records":5')])
    assert verdict.lines()[-1] == "lost 0, duplicated 1, differing 1"


def test_a_missing_dead_letter(tmp_path: Path) -> None:
    verdict = judge(tmp_path, lines(), list(dead_letter_lines(OUTCOME.dead))[1:])
    assert not verdict.ok
    assert verdict.lines()[0] == (
        "w: read 7 = applied 5 + outside 0 + dropped 0 + dead 1; "
        "the definition has read 7 = applied 5 + outside 0 + dropped 0 + dead 2"
    )
    assert verdict.lines()[-1] == "lost 1, duplicated 0, differing 0"


def test_a_dead_letter_with_another_reason(tmp_path: Path) -> None:
    dead = [line.replace("malformed", "bad_type") for line in dead_letter_lines(OUTCOME.dead)]
    verdict = judge(tmp_path, lines(), dead)
    assert not verdict.ok
    assert "first differing dead letter" in verdict.lines()
    assert verdict.lines()[-1] == "lost 0, duplicated 0, differing 1"


def test_right_lines_in_the_wrong_order(tmp_path: Path) -> None:
    rows = lines()
    verdict = judge(tmp_path, [rows[0], rows[2], rows[1], *rows[3:]])
    assert not verdict.ok
    assert any("out of order from line 2 on" in line for line in verdict.lines())
    assert verdict.lines()[-1] == WHOLE


def test_a_run_that_missed_part_of_the_log(tmp_path: Path) -> None:
    other = evaluate(P, LOG[:-3] + LOG[-2:])
    verdict = judge(tmp_path, list(row_lines(other.rows)), list(dead_letter_lines(other.dead)))
    assert not verdict.ok


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ('{"query":"w"}\n', ":1: not a line of the format"),
        ("\n", ":1: not a line of the format"),
        ("nonsense\n", ":1: not a line of the format"),
        ("[]\n", ":1: not a line of the format"),
        ('{"query":"w"}', "the last line has no end"),
        (b"\xff\n", "cannot be read"),
    ],
)
def test_files_that_are_no_output(tmp_path: Path, content: str | bytes, rule: str) -> None:
    out = write(tmp_path, [], [])
    out.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(OutputError, match=rule):
        read_files(out)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be read"):
        read_files(tmp_path / "OUT.jsonl")
    out = write(tmp_path, [], [])
    (tmp_path / "OUT.dead.jsonl").unlink()
    with pytest.raises(OutputError, match=r"OUT\.dead\.jsonl"):
        read_files(out)


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_the_cases_of_the_contract(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "out.jsonl", tmp_path / "out.jsonl")
    shutil.copy(folder / "out.dead.jsonl", tmp_path / "out.dead.jsonl")
    log = list(read_events(folder / "events.jsonl"))
    verdict = verify(
        load_pipeline(folder / "pipeline.yml"), log, read_files(tmp_path / "out.jsonl")
    )
    assert verdict.ok, verdict.lines()
    assert verdict.lines()[-1] == WHOLE


@given(case=cases(), chosen=st.data())
def test_no_single_byte_escapes(
    case: Case, chosen: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pipeline, log = parse_pipeline(case.pipeline), [entry(event) for event in case.events]
    outcome = evaluate(pipeline, log)
    rows, dead = list(row_lines(outcome.rows)), list(dead_letter_lines(outcome.dead))
    folder = tmp_path_factory.mktemp("out")
    assert verify(pipeline, log, read_files(write(folder, rows, dead))).ok
    if not rows:
        return
    spoilt = chosen.draw(st.integers(0, len(rows) - 1))
    digits = [at for at, mark in enumerate(rows[spoilt]) if mark in "12345678"]
    at = chosen.draw(st.sampled_from(digits))
    changed = rows[spoilt][:at] + "9" + rows[spoilt][at + 1 :]
    out = write(folder, [*rows[:spoilt], changed, *rows[spoilt + 1 :]], dead)
    assert not verify(pipeline, log, read_files(out)).ok


# --- tables ----------------------------------------------------------------------------------

KINDS = {"int": pa.int64(), "float": pa.float64(), "string": pa.string()}
Rows = list[dict[str, Any]]


def row_fields(row: Row, pipeline: Pipeline, run: str) -> dict[str, Any]:
    query = next(query for query in pipeline.flows if query.name == row.query)
    fields = {
        "run": run,
        "query": row.query,
        "window_id": row.window_id,
        "window_start": row.window_start_us,
        "window_end": row.window_end_us,
        "pane": row.pane,
        "revision": row.revision,
        "records": row.records,
        "offsets": [
            {"lane": lane, "first": first, "last": last}
            for lane, (first, last) in row.offsets.items()
        ],
        "values": dict(row.values),
        "batch_id": 0,
    }
    marks = {"op": "retract" if row.retracts else None, "absorbed_by": row.absorbed_by}
    marks |= {"tombstone": row.tombstone or None}
    fields |= {mark: marks[mark] for mark in query.marks}
    fields |= {"overflow": [*row.overflow] or None}  # without a column of the name it is left out
    if query.key:
        fields["key"] = dict(zip(query.key, row.key, strict=True))
    return fields


def row_schema(pipeline: Pipeline, name: str) -> pa.Schema:
    query, types = next(one for one in pipeline.flows if one.name == name), pipeline.source.fields
    instant = pa.timestamp("us", tz="UTC")
    offsets = pa.struct([("lane", pa.string()), ("first", pa.int64()), ("last", pa.int64())])
    values = []
    for shown, result in query.value_types(types).items():
        kind = KINDS[result.kind]
        values.append((shown, pa.list_(kind) if result.many else kind))
    columns = [
        *(("run", pa.string()), ("query", pa.string()), ("window_id", pa.int64())),
        *(("window_start", instant), ("window_end", instant)),
        *(("pane", pa.string()), ("revision", pa.int64()), ("records", pa.int64())),
        *(("offsets", pa.list_(offsets)), ("values", pa.struct(values)), ("batch_id", pa.int64())),
    ]
    types_of_marks = {"op": pa.string(), "tombstone": pa.bool_(), "absorbed_by": pa.int64()}
    columns += [(mark, types_of_marks[mark]) for mark in query.marks]
    columns += [("overflow", pa.list_(pa.string()))] * bool(query.may_overflow(types))
    if query.key:
        key = pa.struct([(field, KINDS[types[field].kind]) for field in dict.fromkeys(query.key)])
        columns.append(("key", key))
    return pa.schema(columns)


DEAD_SCHEMA = pa.schema(
    [
        *(("run", pa.string()), ("source", pa.string()), ("partition", pa.int32())),
        *(("offset", pa.int64()), ("query", pa.string()), ("reason", pa.string())),
        ("batch_id", pa.int64()),
    ]
)
METRIC_SCHEMA = pa.schema(
    [
        *(("run", pa.string()), ("lane", pa.string()), ("query", pa.string())),
        *((name, pa.int64()) for name in ("batch_id", "read", "applied", "outside", "dropped")),
        *((name, pa.int64()) for name in ("dead", "first_offset", "last_offset", "progress_us")),
        ("ended", pa.bool_()),
    ]
)


def write_tables(
    folder: Path,
    pipeline: Pipeline,
    outcome: Outcome,
    *,
    run: str = "r1",
    spoil: Callable[[dict[str, Rows]], None] = lambda tables: None,
) -> None:
    """Write what the sink would have, after `spoil` had its way with it."""
    tables: dict[str, Rows] = {query.name: [] for query in pipeline.flows}
    for row in outcome.rows:
        tables[row.query].append(row_fields(row, pipeline, run))
    tables["dead_letters"] = [
        {**vars(letter), "run": run, "batch_id": 0} for letter in outcome.dead
    ]
    tables["metrics"] = [
        part
        for name, counts in outcome.counts.items()
        for part in metrics(run, name, counts, pipeline)
    ]
    spoil(tables)
    for name, rows in tables.items():
        schema = {"dead_letters": DEAD_SCHEMA, "metrics": METRIC_SCHEMA}.get(name)
        table = pa.Table.from_pylist(rows, schema=schema or row_schema(pipeline, name))
        write_deltalake(str(folder / name), table, mode="append")


def metrics(run: str, query: str, counts: Counts, pipeline: Pipeline) -> Rows:
    """Two batches: one read everything, one nothing."""
    some = {"run": run, "lane": pipeline.source.lane(0), "query": query, "ended": False}
    numbers = {"read": counts.read, **counts}
    none = dict.fromkeys(numbers, 0)
    return [{**some, **numbers, "batch_id": 0}, {**some, **none, "batch_id": 1}]


def judge_tables(folder: Path, spoil: Callable[[dict[str, Rows]], None]) -> Verdict:
    write_tables(folder, P, OUTCOME, spoil=spoil)
    return verify(P, LOG, read_tables(folder, P))


def test_the_right_tables_are_acquitted(tmp_path: Path) -> None:
    verdict = judge_tables(tmp_path, lambda tables: None)
    assert verdict.ok, verdict.lines()
    assert verdict.lines()[0] == "w: read 7 = applied 5 + outside 0 + dropped 0 + dead 2"
    assert verdict.lines()[-1] == WHOLE


def lose_a_row(tables: dict[str, Rows]) -> None:
    tables["w"].pop()


def repeat_a_batch(tables: dict[str, Rows]) -> None:
    tables["all"] += [dict(row, batch_id=1) for row in tables["all"]]


def change_a_value(tables: dict[str, Rows]) -> None:
    tables["w"][0]["values"]["sum"] = 1.0000000000000002


def minus_zero(tables: dict[str, Rows]) -> None:
    tables["w"][0]["values"]["sum"] = -0.0


def not_a_number(tables: dict[str, Rows]) -> None:
    tables["w"][0]["values"]["sum"] = float("nan")


def move_a_window(tables: dict[str, Rows]) -> None:
    tables["w"][0]["window_end"] += 1


def change_an_offset(tables: dict[str, Rows]) -> None:
    tables["w"][0]["offsets"][0]["last"] += 1


def lose_a_dead_letter(tables: dict[str, Rows]) -> None:
    tables["dead_letters"].pop()


def one_applied_less(tables: dict[str, Rows]) -> None:
    tables["metrics"][0]["applied"] -= 1


def one_read_more(tables: dict[str, Rows]) -> None:
    tables["metrics"][0]["read"] += 1


def applied_called_dropped(tables: dict[str, Rows]) -> None:
    tables["metrics"][0]["applied"] -= 1
    tables["metrics"][0]["dropped"] += 1


def count_a_batch_twice(tables: dict[str, Rows]) -> None:
    tables["metrics"].append(dict(tables["metrics"][0], batch_id=2))


@pytest.mark.parametrize(
    ("spoil", "last"),
    [
        (lose_a_row, "lost 1, duplicated 0, differing 0"),
        (repeat_a_batch, "lost 0, duplicated 3, differing 0"),
        (change_a_value, "lost 0, duplicated 0, differing 1"),
        (minus_zero, "lost 0, duplicated 0, differing 1"),
        (not_a_number, "lost 0, duplicated 0, differing 1"),
        (move_a_window, "lost 0, duplicated 0, differing 1"),
        (change_an_offset, "lost 0, duplicated 0, differing 1"),
        (lose_a_dead_letter, "lost 1, duplicated 0, differing 0"),
        (one_applied_less, WHOLE),
        (one_read_more, WHOLE),
        (applied_called_dropped, WHOLE),
        (count_a_batch_twice, WHOLE),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_corrupted_tables_fail(
    tmp_path: Path, spoil: Callable[[dict[str, Rows]], None], last: str
) -> None:
    verdict = judge_tables(tmp_path, spoil)
    assert not verdict.ok
    assert verdict.lines()[-1] == last


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_tables_of_the_cases(folder: Path, tmp_path: Path) -> None:
    pipeline = load_pipeline(folder / "pipeline.yml")
    log = list(read_events(folder / "events.jsonl"))
    write_tables(tmp_path, pipeline, evaluate(pipeline, log))
    verdict = verify(pipeline, log, read_tables(tmp_path, pipeline))
    assert verdict.ok, verdict.lines()


def test_one_run_of_several(tmp_path: Path) -> None:
    write_tables(tmp_path, P, OUTCOME, run="r1")
    write_tables(tmp_path, P, OUTCOME, run="r2", spoil=lose_a_row)
    assert verify(P, LOG, read_tables(tmp_path, P, "r1")).ok
    assert not verify(P, LOG, read_tables(tmp_path, P, "r2")).ok
    with pytest.raises(OutputError, match="name the run to verify; the tables hold: r1, r2"):
        read_tables(tmp_path, P)
    with pytest.raises(OutputError, match="no run is called 'r3'; the tables hold: r1, r2"):
        read_tables(tmp_path, P, "r3")


def test_tables_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="there is no Delta table"):
        read_tables(tmp_path / "nowhere", P)
    assert not (tmp_path / "nowhere").exists()
    write_tables(tmp_path, P, OUTCOME)
    shutil.rmtree(tmp_path / "metrics")
    with pytest.raises(OutputError, match=r"metrics: there is no Delta table"):
        read_tables(tmp_path, P)


def test_tables_of_another_pipeline(tmp_path: Path) -> None:
    write_tables(tmp_path, P, OUTCOME)
    other = parse_pipeline(PIPELINE.replace("sum: sum(x)", "total: sum(x)"))
    with pytest.raises(OutputError, match="the pipeline has n, total"):
        read_tables(tmp_path, other)


@pytest.mark.parametrize("harm", ["log garbled", "log cut off", "file gone", "file garbled"])
def test_a_damaged_table_is_named(tmp_path: Path, harm: str) -> None:
    pipeline = load_pipeline(DATA / "tumbling" / "pipeline.yml")
    log = list(read_events(DATA / "tumbling" / "events.jsonl"))
    query = pipeline.flows[0].name
    write_tables(tmp_path, pipeline, evaluate(pipeline, log))
    (commit, *_) = sorted((tmp_path / query / "_delta_log").glob("*.json"))
    (data, *_) = sorted((tmp_path / query).glob("*.parquet"))
    match harm:
        case "log garbled":
            commit.write_bytes(b"\x00garbage\xff")
        case "log cut off":
            commit.write_bytes(commit.read_bytes()[:40])
        case "file gone":
            data.unlink()
        case "file garbled":
            data.write_bytes(b"\x00garbage\xff")
    with pytest.raises(OutputError, match=re.escape(str(tmp_path))) as caught:
        read_tables(tmp_path, pipeline)
    assert caught.value.exit_code in (1, 2)
