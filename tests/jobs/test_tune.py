"""What tuning says of a slack is what the definition makes of the log under that slack."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from jobs.recording import record
from jobs.tune import Scale, TuneError, tune
from slackwater.main import app
from tests.strategies import Entry, cases, entry
from windowing.semantics.trace import trace
from windowing.spec import Pipeline, load_pipeline, parse_pipeline
from windowing.spec.disorder import Slack, SlackRows

DATA = Path(__file__).parent.parent / "data" / "pipelines"


def under(pipeline: Pipeline, disorder: Slack | SlackRows) -> Pipeline:
    """The pipeline with another generator, its late records counted and nothing more."""
    source = pipeline.source.model_copy(update={"disorder": disorder})
    return pipeline.model_copy(update={"source": source})


def defined(pipeline: Pipeline, log: list[Entry], disorder: Slack | SlackRows) -> tuple[int, int]:
    """Late records, and pairs of record and window that revision 0 misses."""
    late = missing = 0
    for line in trace(under(pipeline, disorder), log):
        found = line.get("queries", {})
        late += any(query["late"] for query in found.values())
        missing += sum(len(query["late"]) for query in found.values())
    return late, missing


@given(st.data())
def test_costs_are_those_of_the_definition(data: st.DataObject) -> None:
    case = data.draw(cases(records_max=14))
    pipeline = parse_pipeline(case.pipeline)
    log = [entry(e) for e in case.events if "control" not in e or "end" in e["control"]]
    try:
        scale = Scale(pipeline, record(pipeline, log), "event")
    except TuneError:
        return
    disorder = data.draw(
        st.one_of(
            st.integers(0, 30).map(lambda n: Slack(n * 1000)),
            st.integers(0, 30).map(Slack),
            st.integers(0, 6).map(SlackRows),
        )
    )
    cost = scale.cost(disorder)
    late, missing = defined(pipeline, log, disorder)
    assert round(cost.late * scale.records) == late
    assert (cost.wrong > 0) == (missing > 0)
    assert (cost.missing > 0) == (missing > 0)
    nothing_late = scale.punctuated(1000)
    assert (nothing_late.late, nothing_late.wrong) == (0, 0)


@given(st.data())
def test_the_proposal_is_the_smallest_within_the_target(data: st.DataObject) -> None:
    case = data.draw(cases(records_max=14))
    pipeline = parse_pipeline(case.pipeline)
    log = [entry(e) for e in case.events if "control" not in e or "end" in e["control"]]
    try:
        scale = Scale(pipeline, record(pipeline, log), "event")
    except TuneError:
        return
    target = data.draw(st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, 3)]))
    for kind, least in ((Slack, scale.least_time(target)), (SlackRows, scale.least_rows(target))):
        allowed = target * scale.records
        assert defined(pipeline, log, kind(least))[0] <= allowed
        assert least == 0 or defined(pipeline, log, kind(least - 1))[0] > allowed


def test_latency_and_closing_by_hand() -> None:
    pipeline = load_pipeline(DATA / "tumbling" / "pipeline.yml")
    size = pipeline.queries[0].window.slide
    name = pipeline.source.topic
    field = pipeline.source.event_time
    unit = {"us": 1, "ms": 1_000, "s": 1_000_000}[field.unit]
    values = {f: 1 if t.kind == "int" else "x" for f, t in pipeline.source.fields.items()}
    log = [
        entry({"source": name, "partition": p, "offset": o, "value": {**values, field.field: ts}})
        for o, ts in enumerate((0, size // unit, (2 * size + size // 2) // unit))
        for p in range(pipeline.source.partitions)
    ]
    cost = Scale(pipeline, record(pipeline, log), "event").cost(Slack(0))
    # Window 0 closes by the record at its end, window 1 by one half a window later; the third,
    # window 2, stays open.
    assert cost.latency_us == size / 4
    assert cost.closed == pytest.approx(2 / 3)


def test_the_command_draws_and_proposes(tmp_path: Path) -> None:
    case = DATA / "late-update-generous"
    arguments = ["tune", str(case / "pipeline.yml"), "--input", str(case / "events.jsonl")]
    done = CliRunner().invoke(app, [*arguments, "--png", str(tmp_path / "t.png")])
    assert done.exit_code == 0, done.output
    assert "disorder: {slack: " in done.output
    assert (tmp_path / "t.png").stat().st_size > 10_000
    assert CliRunner().invoke(app, [*arguments, "--late", "150%"]).exit_code == 2
    with pytest.raises(TuneError, match="no good record"):
        tune(
            load_pipeline(case / "pipeline.yml"),
            record(load_pipeline(case / "pipeline.yml"), []),
            Fraction(0),
        )
