"""A replay's trials, a shadow's differences, and what a range decides of a production run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaos.readers.log import LogRecord
from chaos.readers.output import Output, output_of
from chaos.replay.production import against_production
from chaos.replay.run import ReplayError, cut_range, digest, draw_trials
from chaos.replay.shadow import shadow
from chaos.workload.feed import cut, departed
from chaos.workload.kinds import Workload
from chaos.workload.own_pipeline import own_pipeline
from slackwater.main import app
from windowing.model import Pipeline, load_pipeline, parse_pipeline
from windowing.semantics import evaluate

PIPELINE = """
name: p
source:
  topic: t
  partitions: 1
  format: json
  event_time: {field: ts, unit: s}
  fields: {v: int}
  disorder: {slack: %s seconds}
late: {policy: update, every: 10 seconds}
retention: 1 hour
queries:
  q: {window: RANGE 10 seconds SLIDE 10 seconds WATTR ts, aggregates: {n: count, total: sum(v)}}
"""
OLD, NEW = (parse_pipeline(PIPELINE % slack) for slack in (0, 20))
FLIGHTS = Path(__file__).parents[3] / "pipelines" / "flight_delays.yml"


def records(*times_s: int) -> list[LogRecord]:
    return [
        LogRecord("t", 0, offset, json.dumps({"ts": ts, "v": offset}).encode(), None, None)
        for offset, ts in enumerate(times_s)
    ]


# Window 0 closes at offset 2; 7 comes late; window 1 closes at offset 4.
LOG = records(1, 5, 12, 7, 25, 41, 55)


def defined(pipeline: Pipeline, log: list[LogRecord]) -> Output:
    outcome = evaluate(pipeline, log)
    return output_of(outcome.rows, outcome.dead, "defined")


def test_more_slack_makes_a_late_record_timely() -> None:
    found = shadow(OLD, NEW, len(LOG), lambda pipeline: defined(pipeline, LOG))
    by_start = {pair.place.start_us // 1_000_000: pair for pair in found.windows.pairs}
    assert ("revisions", 2, 1) in by_start[0].differing
    # With 20 seconds of slack the stream stands at 35, not at 55: the window of 41 is still open.
    assert by_start[40].change == "gone"
    assert by_start[10].change == "same"
    assert found.lines()[-1] == "2 of 4 windows differ: 1 changed, 0 added, 1 gone"


def test_dead_letters_are_counted_by_reason() -> None:
    strict = parse_pipeline(
        (PIPELINE % 0).replace("policy: update, every: 10 seconds", "policy: dead_letter")
    )
    found = shadow(OLD, strict, len(LOG), lambda pipeline: defined(pipeline, LOG))
    assert found.lines()[:2] == ["dead letters: 0 before, 1 after", "  late: 0 before, 1 after"]


def test_a_shadow_of_another_log_is_refused() -> None:
    other = parse_pipeline((PIPELINE % 0).replace("topic: t", "topic: u"))
    with pytest.raises(ReplayError, match="'t' with 1 partitions and 'u' with 1 partitions"):
        shadow(OLD, other, 0, lambda pipeline: defined(pipeline, LOG))


def test_the_command_runs_both_over_a_file(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    places = [{"source": "t", "partition": 0, "offset": record.offset} for record in LOG]
    values = [json.loads(record.value or b"") for record in LOG]
    lines = [json.dumps({**p, "value": v}) for p, v in zip(places, values, strict=True)]
    events.write_text("\n".join(lines) + "\n")
    for name, pipeline in (("old.yml", OLD), ("new.yml", NEW)):
        (tmp_path / name).write_text(pipeline.text)
    command = ["replay", str(tmp_path / "old.yml"), "--shadow", str(tmp_path / "new.yml")]
    command += ["--input", str(events), "--report", str(tmp_path / "out")]
    answer = CliRunner().invoke(app, command)
    assert answer.exit_code == 0, answer.output
    assert "2 of 4 windows differ: 1 changed, 0 added, 1 gone" in answer.output
    data = json.loads((tmp_path / "out" / "shadow.json").read_text())
    assert [window["change"] for window in data["differing"]] == ["changed", "gone"]
    page = (tmp_path / "out" / "shadow.html").read_text()
    assert "1970-01-01 00:00 to 1970-01-01 00:00:10" in page
    assert "://" not in page

    cut = CliRunner().invoke(app, [*command, "--to", '{"0": 5}'])
    assert "differ" in cut.output
    assert "5 records" in cut.output
    assert CliRunner().invoke(app, [*command, "--to", "2013-01-01"]).exit_code == 2
    assert CliRunner().invoke(app, ["replay"]).exit_code == 2


# --- ranges -----------------------------------------------------------------------------------


def test_a_range_has_ends_of_its_own() -> None:
    ranged = cut_range(LOG, [0], {0: 2}, {0: 5})
    assert [record.offset for record in ranged.records] == [2, 3, 4]
    assert len(ranged.log) == 5
    assert cut_range(LOG, [0]).ends == {0: 7}


def test_a_range_that_cannot_be_is_refused() -> None:
    with pytest.raises(ReplayError, match="no partition 4: the log has 0"):
        cut_range(LOG, [0], {4: 1})
    with pytest.raises(ReplayError, match="widen"):
        cut_range(LOG, [0], {0: 5}, {0: 5})


# --- what a production run wrote ---------------------------------------------------------------


def test_a_whole_log_decides_every_window() -> None:
    found = against_production(OLD, LOG, {0: 0}, {0: 7}, run="r", written=defined(OLD, LOG))
    assert found.ok
    assert (found.windows, found.rows.expected) == (4, 5)
    assert "run r: 4 windows with 5 rows" in str(found)


def test_windows_with_earlier_records_are_not_decided_by_a_range() -> None:
    # The range knows offsets 1 and 3 of window 0, and nothing of offset 0.
    found = against_production(OLD, LOG, {0: 1}, {0: 7}, run="r", written=defined(OLD, LOG))
    assert found.ok
    assert found.windows == 3


def test_what_was_late_because_of_an_earlier_record_is_not_decided() -> None:
    # In the range alone, which begins with offset 3, the record of 7 s is on time.
    found = against_production(OLD, LOG, {0: 3}, {0: 7}, run="r", written=defined(OLD, LOG))
    assert found.ok
    assert found.windows == 2


def test_what_the_run_wrote_behind_the_range_is_not_judged() -> None:
    found = against_production(OLD, LOG, {0: 0}, {0: 3}, run="r", written=defined(OLD, LOG))
    assert found.ok
    assert (found.windows, found.rows.found) == (1, 1)  # revision 1 was sent behind the range


@pytest.mark.parametrize("spoil", ["lose", "repeat", "alter", "invent"])
def test_a_corrupted_run_is_found(spoil: str) -> None:
    written = defined(OLD, LOG)
    identity, text = written.rows[0]
    if spoil == "lose":
        del written.rows[0]
    elif spoil == "repeat":
        written.rows.append((identity, text))
    elif spoil == "alter":
        written.rows[0] = (identity, text.replace('"n":', '"n":9'))
    else:
        written.rows.append(((*identity[:3], '"late"', "0"), text))
    found = against_production(OLD, LOG, {0: 0}, {0: 7}, run="r", written=written)
    assert not found.ok


def test_trials_differ_in_cuts_and_spread_and_a_seed_gives_them_again() -> None:
    trials = draw_trials(5, 3, offsets=3000, shards=8)
    assert trials == draw_trials(5, 3, offsets=3000, shards=8)
    assert trials != draw_trials(5, 4, offsets=3000, shards=8)
    assert len({trial.max_offsets for trial in trials}) == 5
    assert {trial.executors for trial in trials} == {1, 2, 4}
    assert all(100 <= trial.max_offsets <= 1000 for trial in trials)
    assert len({trial.shards for trial in trials}) > 1
    assert all(1 <= trial.shards <= 16 and trial.tasks >= 1 for trial in trials)
    assert [t.max_offsets for t in draw_trials(2, 1, offsets=1, shards=1)] == [1, 1]


def test_a_digest_knows_every_byte_and_no_order() -> None:
    rows = [(("a",), "line a"), (("b",), "line b")]

    def of(*lines: tuple[tuple[str, ...], str]) -> str:
        return digest(Output(list(lines), [], None, ordered=False, name=""))

    assert of(*rows) == of(*reversed(rows))
    assert of(*rows) != of(rows[0])
    assert of(*rows) != of(rows[0], (("b",), "line B"))


def test_a_pipeline_of_its_own_computes_the_same() -> None:
    ours = load_pipeline(FLIGHTS)
    own = own_pipeline(FLIGHTS, "trial", topic="other")
    assert (own.name, own.source.topic) == ("flight_delays-trial", "other")
    assert own.sink is not None
    assert ours.sink is not None
    assert own.sink.name != ours.sink.name
    assert own.flows == ours.flows
    assert own_pipeline(FLIGHTS, "trial").fingerprint == ours.fingerprint
    assert own_pipeline(FLIGHTS, "trial", shards=3).shards == 3


def test_the_workload_is_cut_before_its_ends() -> None:
    pipeline = load_pipeline(FLIGHTS)
    log = departed(Workload(flights=500, max_offsets=10), pipeline)
    part = cut(log, pipeline, reserve=60)
    assert (len(part.body), len(part.reserve), len(part.ends)) == (450, 60, 3)
    assert not any(record.is_end for record in (*part.body, *part.reserve))
    assert [record.partition for record in part.ends] == [0, 1, 2]
    assert all(record.is_end for record in part.ends)
