"""Generators as a pipeline file spells them, and what is refused before anything runs."""

from fractions import Fraction

import pytest

from windowing.engine.plan import plan_of
from windowing.explain.pipeline import explain
from windowing.model import PipelineError, parse_pipeline
from windowing.model import progress as spec

PIPELINE = """
name: p
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {k: string, n: int, x: float}
  disorder: DISORDER
queries:
  w: {window: RANGE 10 s SLIDE 5 s WATTR ts, group_by: [k], aggregates: {c: count}}
"""
MEMBERS = (("s/0", ("a", "b")), ("s/1", ()))


@pytest.mark.parametrize(
    ("text", "generator"),
    [
        ("ordered", spec.Slack(0)),
        ("{slack: 1.5 s}", spec.Slack(1_500_000)),
        ("{slack: 500 rows}", spec.SlackRows(500)),
        ("punctuation", spec.Punctuation()),
        ("{adaptive: {late: 0.1%, over: 1000 rows}}", spec.Adaptive(Fraction(1, 1000), 1000)),
        (
            "{ordered_per: {attr: k, members: {s/1: [], s/0: [a, b]}}}",
            spec.OrderedPer("k", MEMBERS),
        ),
        (
            "{heartbeat: {s/1: {max_delay: 3 us}, "
            "s/0: {max_delay: 5 s, min_delay: 1 s, skew: 2 ms}}}",
            spec.Heartbeat(
                (("s/0", spec.Delays(5_000_000, 1_000_000, 2_000)), ("s/1", spec.Delays(3, 0, 0)))
            ),
        ),
    ],
)
def test_every_generator_is_read_and_explained(text: str, generator: spec.Disorder) -> None:
    pipeline = parse_pipeline(PIPELINE.replace("DISORDER", text))
    assert pipeline.source.disorder == generator
    assert any("progress of a lane" in line for line in explain(plan_of(pipeline)))


@pytest.mark.parametrize(
    ("given", "text", "generator"),
    [
        ("ordered", "", spec.Slack(0)),
        ("{slack: 5 rows}", "", spec.SlackRows(5)),
        ("{slack: 5 s}", "disorder_of: {n: {slack: 7}}", spec.Slack(7)),
        ("punctuation", "disorder_of: {n: ordered}", spec.Slack(0)),
        ("ordered", "disorder_of: {n: {slack: 3 rows}}", spec.SlackRows(3)),
    ],
)
def test_another_attribute_has_a_generator_without_units(
    given: str, text: str, generator: spec.Disorder
) -> None:
    pipeline = parse_pipeline(_over_n(given, text))
    assert pipeline.source.generator_of("n") == generator
    assert any(line.startswith("  progress by n: its") for line in explain(plan_of(pipeline))) == (
        generator == spec.Slack(0) or isinstance(generator, spec.Slack)
    )


def _over_n(disorder: str, more: str = "", query: str = "") -> str:
    text = PIPELINE.replace("RANGE 10 s SLIDE 5 s WATTR ts", "RANGE 10 SLIDE 5 WATTR n")
    text = text.replace("aggregates: {c: count}", f"aggregates: {{c: count}}{query}")
    return text.replace("DISORDER", f"{disorder}\n  {more}")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (_over_n("{slack: 5 s}"), r"E_DISORDER: .* source.disorder_of: {n: ordered}"),
        (_over_n("ordered", "disorder_of: {n: {slack: 5 s}}"), "E_DISORDER: .* is about times"),
        (_over_n("ordered", "disorder_of: {n: {slack: -5}}"), "E_DISORDER: slack -5 must be from"),
        (
            _over_n("ordered", "disorder_of: {n: punctuation}"),
            "E_DISORDER: 'punctuation' is about times",
        ),
        (_over_n("ordered", "disorder_of: {k: ordered}"), "E_DISORDER: .* is not an int"),
        (_over_n("ordered").replace("n: int", 'n: "int?"'), "E_ATTR_TYPE: n may be null"),
        (
            _over_n("ordered", query=", late: {policy: update, every: 1 s}, retention: 9"),
            r"queries\.w\.late: E_UNIT: 1 s: .* a plain number",
        ),
        (
            _over_n("ordered", query=", late: {policy: update, every: 1}, retention: 9 s"),
            r"queries\.w\.retention: E_UNIT: 9 s",
        ),
        (
            PIPELINE.replace(
                "DISORDER", "ordered\nlate: {policy: update, every: 5}\nretention: 1 s"
            ),
            r"late: E_UNIT: 5: .* a length of time",
        ),
    ],
)
def test_what_does_not_fit_a_number_is_refused(text: str, rule: str) -> None:
    with pytest.raises(PipelineError, match=rule):
        parse_pipeline(text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("sorted", "E_DISORDER: 'sorted' is not a generator"),
        ("none", "E_DISORDER: 'none' is not a generator"),
        ("{slack: -1 s}", "E_DISORDER: slack"),
        ("{slack: 1.5 rows}", "whole number of rows"),
        ("{slack: -1 rows}", "at least 0"),
        ("{slack: 5}", "needs a unit"),
        ("{adaptive: {late: 100%, over: 10 rows}}", "share below 1"),
        ("{adaptive: {late: 1%}}", "over is missing"),
        ("{adaptive: {late: 1%, over: 0 rows}}", "at least 1"),
        ("{heartbeat: {s/0: {max_delay: 1 s}}}", "s/1 is missing"),
        ("{heartbeat: {s/0: {min_delay: 1 s}}}", "max_delay is missing"),
        ("{heartbeat: {s/0: {max_delay: 1 s, min_delay: 2 s}}}", "longer than max_delay"),
        ("{heartbeat: {}}", "every lane"),
        ("{punctuation: {attr: z}}", "'z' is not under source.fields"),
        ("{punctuation: {attr: K}}", "did you mean 'k'?"),
        ("{punctuation: {attr: n}}", "E_KEYED_PROGRESS"),
        ("{ordered_per: {attr: k, members: {s/0: [a]}}}", "s/1 is missing"),
        ("{ordered_per: {attr: k, members: {s/0: [a], s/1: [], s/2: []}}}", "no lane s/2"),
        ("{ordered_per: {attr: k, members: {s/0: [1], s/1: []}}}", "1 is no value of k"),
        ("{ordered_per: {attr: k, members: {s/0: a, s/1: []}}}", "not a list"),
    ],
)
def test_what_is_no_generator_of_this_source_is_refused(text: str, rule: str) -> None:
    with pytest.raises(PipelineError, match=rule):
        parse_pipeline(PIPELINE.replace("DISORDER", text))
