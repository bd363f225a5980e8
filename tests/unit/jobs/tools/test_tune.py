"""Tuning: what it says of a slack is what the definition says, and what it proposes."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from chaos.readers.log import read_events
from jobs.tools.knee import knee_of
from jobs.tools.punctuate import step_of
from jobs.tools.recording import record, write_events
from jobs.tools.times_in_words import in_words, round_up
from jobs.tools.tune import Scale, tune
from jobs.tools.tune_plot import picture
from jobs.tools.tune_windows import TuneError, UnitError, closings
from slackwater.main import app
from tests.strategies import KINDS, Case, Entry, cases, entry
from windowing.engine.plan import closing_by_event_time, plan_of
from windowing.model import Pipeline, Query, load_pipeline, parse_pipeline
from windowing.model.lengths import spell_us
from windowing.model.progress import Disorder, Punctuation, Slack, SlackRows
from windowing.model.rows import Key
from windowing.semantics.revisions import key_of, revisions
from windowing.semantics.view import Views
from windowing.semantics.windows.classes import definition_of
from windowing.semantics.windows.definition import ExtentDefinition

DATA = Path(__file__).parents[3] / "data" / "pipelines"
# Disorder means nothing to rows that count as they arrive.
_KINDS = [kind for kind in KINDS if kind not in ("rows in the log's order", "session of rows")]
# The classes share the time that one would have.
_EXAMPLES = max(settings.default.max_examples // 8, 3) if settings.default else 3


def under(pipeline: Pipeline, disorder: Disorder) -> Pipeline:
    """The pipeline with another generator, its late records counted and nothing more."""
    source = pipeline.source.model_copy(update={"disorder": disorder})
    return pipeline.model_copy(update={"source": source})


def all_of(case: Case) -> list[Entry]:
    """The log without bounds; every lane ends, so that all windows are shown."""
    kept = (e for e in case.events if "control" not in e or e["control"] == {"end": True})
    log = [entry(e) for e in kept]
    lanes = {lane[0]["partition"]: lane[-1]["offset"] for lane in case.lanes if lane}
    for number in range(len(case.lanes)):
        end = {"source": "s", "partition": number, "offset": lanes.get(number, 0) + 1}
        log.append(entry({**end, "control": {"end": True}}))
    return log


Shown = dict[tuple[str, int, Key], frozenset[tuple[str, int, int]]]


def defined(pipeline: Pipeline, log: list[Entry], disorder: Disorder) -> tuple[int, Shown]:
    """How many records are late under a generator, and what every revision 0 holds."""
    pipeline = under(pipeline, disorder)
    view = Views(pipeline, log).by(None)
    items, lanes = view.items, view.lanes
    queries = [flow.query for flow in closing_by_event_time(plan_of(pipeline))]
    late = sum(any(definition_of(query).lateness(item) for query in queries) for item in items)
    rows = {
        (query.name, shown.wid, key_of(query, shown)): frozenset(i.place for i in shown.holds)
        for query in queries
        for shown in revisions(query, items, lanes)
        if shown.revision == 0
    }
    return late, rows


def without_epochs(text: str) -> str:
    """A pipeline file with sessions, their late records dead letters at once; others as they are.

    With epochs, a session takes in what is released before it ends: late, and yet in its first row.
    Passing these cases over left too few.
    """
    document = yaml.safe_load(text)
    for part in (document, *document["queries"].values()):
        late = part.get("late", {})
        if "every" in late and "window: SESSION" in text:
            part["late"] = {"policy": "dead_letter"} | {k: late[k] for k in ("mode",) if k in late}
            part.pop("retention", None)
    return yaml.safe_dump(document, sort_keys=False)


def weighed(case: Case) -> tuple[Pipeline, list[Entry], Scale]:
    """A case as a tool sees it; those of which nothing can be said are passed over."""
    pipeline, log = parse_pipeline(without_epochs(case.pipeline)), all_of(case)
    try:
        return pipeline, log, Scale(pipeline, record(pipeline, log), "event")
    except (TuneError, UnitError):
        assume(False)
        raise


@pytest.mark.parametrize("kind", _KINDS)
@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_costs_are_those_of_the_definition(kind: str, data: st.DataObject) -> None:
    case = data.draw(cases(kind=kind, records_max=14))
    assume("PickySwing" not in case.pipeline)  # what a class refuses is weighed as a record
    pipeline, log, scale = weighed(case)
    disorder = data.draw(
        st.one_of(
            st.integers(0, 30).map(lambda n: Slack(n * 1000)),
            st.integers(0, 30).map(Slack),
            st.integers(0, 6).map(SlackRows),
        )
    )
    agrees(pipeline, log, scale, disorder)


def agrees(pipeline: Pipeline, log: list[Entry], scale: Scale, disorder: Disorder) -> None:
    """Compare the cost of a setting with what the definition says."""
    cost = scale.cost(disorder)
    late, rows = defined(pipeline, log, disorder)
    _, truth = defined(pipeline, log, Punctuation())
    assume(truth)
    held = {row: rows.get(row, frozenset()) for row in truth}
    assert round(cost.late * scale.records) == late
    assert cost.wrong == pytest.approx(
        sum(held[row] != true for row, true in truth.items()) / len(truth)
    )
    missing = (1 - min(len(held[row]), len(true)) / len(true) for row, true in truth.items())
    assert cost.missing == pytest.approx(sum(missing) / len(truth))
    nothing_late = scale.punctuated(step_of(pipeline))
    assert (nothing_late.late, nothing_late.wrong) == (0, 0)


@settings(max_examples=40)
@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(-5, 5),
    st.sampled_from(["", "ALIGN start", "ALIGN end"]),
    st.sets(st.integers(-20, 20), min_size=1),
)
def test_windows_close_at_their_ends(
    range_us: int, slide_us: int, origin_us: int, align: str, numbers: set[int]
) -> None:
    window = f"RANGE {range_us} us SLIDE {slide_us} us WATTR ts ORIGIN {origin_us} us {align}"
    text = (DATA / "tumbling" / "pipeline.yml").read_text()
    field = load_pipeline(DATA / "tumbling" / "pipeline.yml").source.event_time.field
    window = window.replace("WATTR ts", f"WATTR {field}")
    pipeline = parse_pipeline(re.sub(r"window: .*", f"window: {window}", text, count=1))
    query = pipeline.of(Query)[0]
    truth = pl.DataFrame({"wid": sorted(numbers)})
    ends, closes = closings(query, truth, truth)
    definition = definition_of(query)
    assert isinstance(definition, ExtentDefinition)
    assert ends.tolist() == closes.tolist()
    assert ends.tolist() == [definition.extent(wid)[1] for wid in sorted(numbers)]


@pytest.mark.parametrize("kind", _KINDS)
@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_the_proposal_is_the_smallest_within_the_target(kind: str, data: st.DataObject) -> None:
    case = data.draw(cases(kind=kind, records_max=14))
    assume("PickySwing" not in case.pipeline)  # what a class refuses is weighed as a record
    pipeline, log, scale = weighed(case)
    target = data.draw(st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, 3)]))
    for chosen, least in ((Slack, scale.least_time(target)), (SlackRows, scale.least_rows(target))):
        allowed = target * scale.records
        assert defined(pipeline, log, chosen(least))[0] <= allowed
        assert least == 0 or defined(pipeline, log, chosen(least - 1))[0] > allowed


def test_rows_that_count_as_they_arrive_leave_nothing_to_weigh() -> None:
    text = (DATA / "tumbling" / "pipeline.yml").read_text()
    window = "RANGE 2 rows SLIDE 2 rows WATTR row_num"
    pipeline = parse_pipeline(re.sub(r"window: .*", f"window: {window}", text))
    log = record(pipeline, read_events(DATA / "tumbling" / "events.jsonl"))
    with pytest.raises(TuneError, match="slack means nothing"):
        Scale(pipeline, log, "event")


WITHHELD = """\
name: withheld
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {id: "int?", v: int}
  disorder: ordered
  where: v <> 3
  duplicates: {by: [id], within: 4 us}
queries:
  q: {window: WINDOW, aggregates: {n: count}}
"""
_WINDOWS = (
    *("RANGE 5 us SLIDE 5 us WATTR ts", "RANGE 6 us SLIDE 2 us WATTR ts"),
    *("SESSION 2 us WATTR ts", "RANGE LANDMARK SLIDE 5 us WATTR ts"),
)


@settings(max_examples=30)
@given(
    window=st.sampled_from(_WINDOWS),
    records=st.lists(
        st.tuples(
            *(st.integers(0, 1), st.integers(0, 16)),
            *(st.sampled_from([1, 1, 1, 2, None]), st.sampled_from([0, 0, 0, 3])),
        ),
        max_size=14,
    ),
    disorder=st.integers(0, 15).map(Slack) | st.integers(0, 6).map(SlackRows),
    target=st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 3)]),
)
def test_records_that_no_window_sees_move_progress_and_are_in_no_row(
    window: str, records: list, disorder: Disorder, target: Fraction
) -> None:
    """Which are duplicates goes by progress: a slack decides that, too."""
    pipeline = parse_pipeline(WITHHELD.replace("WINDOW", window))
    log = []
    for offset, (lane, ts, name, v) in enumerate(records):
        value = {"ts": ts, "id": name, "v": v}
        log.append(entry({"source": "s", "partition": lane, "offset": offset, "value": value}))
    for lane in (0, 1):
        end = {"source": "s", "partition": lane, "offset": len(records)}
        log.append(entry({**end, "control": {"end": True}}))
    if all(v == 3 for *_, v in records):
        with pytest.raises(TuneError, match="holds"):
            Scale(pipeline, record(pipeline, log), "event")
        return
    scale = Scale(pipeline, record(pipeline, log), "event")
    agrees(pipeline, log, scale, disorder)
    for chosen, least in ((Slack, scale.least_time(target)), (SlackRows, scale.least_rows(target))):
        allowed = target * scale.records
        assert defined(pipeline, log, chosen(least))[0] <= allowed
        assert least == 0 or defined(pipeline, log, chosen(least - 1))[0] > allowed


def test_operators_have_no_windows_to_weigh() -> None:
    operator = "operator: sort, by: [n], window: SLIDING count(2)"
    text = (DATA / "tumbling" / "pipeline.yml").read_text()
    head = text[: text.index("queries:")]
    pipeline = parse_pipeline(f"{head}queries: {{a: {{{operator}}}}}\n")
    log = record(pipeline, read_events(DATA / "tumbling" / "events.jsonl"))
    with pytest.raises(TuneError, match="operators have no windows that close at a time"):
        Scale(pipeline, log, "event")


def test_latency_and_closing_by_hand() -> None:
    pipeline = load_pipeline(DATA / "tumbling" / "pipeline.yml")
    size = pipeline.flows[0].window.slide
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


MINUTELY = """\
name: minutely
source:
  {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us}, fields: {},
   disorder: ordered}
queries:
  q: {window: RANGE 1 minute SLIDE 1 minute WATTR ts, aggregates: {n: count}}
"""


def minutely() -> Pipeline:
    return parse_pipeline(MINUTELY)


def disordered(pipeline: Pipeline, lags_us: Iterable[int], step_us: int) -> list[Entry]:
    """A log of one lane: a record every step, each with a lag behind the newest."""
    field, now_us = pipeline.source.event_time, 10**12
    unit = {"us": 1, "ms": 1_000, "s": 1_000_000}[field.unit]
    values = {f: 1 if t.kind == "int" else "x" for f, t in pipeline.source.fields.items()}
    log = []
    for offset, lag_us in enumerate(lags_us):
        now_us += step_us
        ts = (now_us - lag_us) // unit
        place = {"source": pipeline.source.topic, "partition": 0, "offset": offset}
        log.append(entry({**place, "value": {**values, field.field: ts}}))
    return log


def known_knee(count: int = 20_000) -> Iterator[int]:
    """Of twenty records one is up to a minute behind, of a hundred one up to 14 hours."""
    rng = random.Random(1)
    for number in range(count):
        if number % 100 == 7:
            yield rng.randrange(52_000) * 1_000_000
        else:
            yield rng.randrange(60) * 1_000_000 if number % 20 == 3 else 0


def test_the_proposal_does_not_jump_over_the_knee() -> None:
    """It was 52000 s, for the last tenths of a per cent, where a minute leaves one per cent."""
    pipeline = minutely()
    log = disordered(pipeline, known_knee(), 1_000_000)
    found = tune(pipeline, record(pipeline, log), Fraction(1, 1000))
    assert found.knee_us is not None
    assert 30_000_000 <= found.knee_us <= 60_000_000
    assert found.slack_us > 500 * found.knee_us
    knee = found.cost_of("time", found.knee_us)
    assert knee.late == pytest.approx(0.01, abs=0.002)
    assert found.knee_rows is not None
    assert found.cost_of("rows", found.knee_rows).late < 0.02


def test_a_curve_that_falls_alike_everywhere_has_no_knee() -> None:
    pipeline = minutely()
    even = disordered(
        pipeline, ((number * 7_919 % 600) * 1_000_000 for number in range(9_000)), 10**6
    )
    found = tune(pipeline, record(pipeline, even), Fraction(1, 1000))
    assert (found.knee_us, found.knee_rows) == (None, None)
    in_order = disordered(pipeline, [0] * 500, 1_000_000)
    assert tune(pipeline, record(pipeline, in_order), Fraction(1, 1000)).knee_us is None


def test_the_command_proposes_the_knee_unless_a_share_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "p.yml").write_text(MINUTELY)
    pipeline = minutely()
    write_events(tmp_path / "e.jsonl", disordered(pipeline, known_knee(6_000), 1_000_000))
    command = ["tune", str(tmp_path / "p.yml"), "--input", str(tmp_path / "e.jsonl")]
    output = CliRunner().invoke(app, [*command, "--png", str(tmp_path / "t.png")]).output
    proposals = re.findall(r"disorder: \{slack: (\d+ \w+)\}", output)
    assert proposals[0].endswith(" s")
    assert " h" in proposals[-2]
    assert re.search(
        r"it leaves [01]\.\d+% late; \d+ h( \d+ min)? more would leave 0\.\d+%", output
    )
    assert "000 s" not in output
    asked = CliRunner().invoke(app, [*command, "--late", "0.1%"]).output
    assert re.findall(r"disorder: \{slack: (\d+ \w+)\}", asked)[0] == proposals[-2]
    assert "the knee of the curve" in asked


def test_the_picture_marks_what_is_proposed(tmp_path: Path) -> None:
    pipeline = minutely()
    found = tune(
        pipeline,
        record(pipeline, disordered(pipeline, known_knee(3_000), 1_000_000)),
        Fraction(1, 1000),
    )
    figure = picture(found, "p")
    marked = {
        line.get_label(): (line.get_xdata()[0], line.get_ydata()[0])
        for line in figure.axes[1].lines
        if line.get_marker() == "D"
    }
    assert found.knee_us is not None
    for label, slack_us in (("knee", found.knee_us), ("0.1% late", found.slack_us)):
        cost = found.cost_of("time", slack_us)
        assert cost.latency_us is not None
        assert marked[label] == pytest.approx((cost.latency_us / 1e6, 100 * cost.late))


def test_a_curve_is_needed_for_a_knee() -> None:
    assert knee_of([0, 5], [0.5, 0.1]) is None
    assert knee_of([0, 1, 100], [0.5, 0.02, 0.01]) == 1
    assert knee_of([0, 50, 100], [0.4, 0.2, 0.1]) is None
    assert knee_of([0, 1, 2], [0.1, 0.1, 0.1]) is None


@given(st.integers(0, 10**13))
def test_a_readable_length_is_one_word_and_hardly_more(us: int) -> None:
    rounded = round_up(us)
    assert us <= rounded <= us * 1.1 + 1
    digits = spell_us(rounded).split()[0].rstrip("0")
    assert len(digits) <= 3


@pytest.mark.parametrize(
    ("us", "words"),
    [
        (0, "0 us"),
        (999, "999 us"),
        (1_500, "1.5 ms"),
        (59_000_000, "59 s"),
        (60_000_000, "1 min"),
        (3_599_999_999, "1 h"),
        (51_960_000_000, "14 h 26 min"),
        (86_400_000_000, "1 d"),
        (-90_000_000, "-1 min 30 s"),
    ],
)
def test_times_are_said_in_words(us: int, words: str) -> None:
    assert in_words(us) == words
