"""Generators of progress: one small file each, record in, bound out.

A generator looks at the records of one lane and states, after each, a bound: no record below it is
promised to follow. A lane's progress is the running maximum of the bounds; nothing else in the
runtime knows how disorder is dealt with.
"""

from __future__ import annotations

from windowing.engine.progress.adaptive import Adaptive
from windowing.engine.progress.generator import Generator
from windowing.engine.progress.heartbeat import Heartbeat
from windowing.engine.progress.ordered_per import OrderedPer
from windowing.engine.progress.punctuation import Punctuation
from windowing.engine.progress.slack import SlackTime
from windowing.engine.progress.slack_rows import SlackRows
from windowing.model.progress import disorder as spec

__all__ = ["Generator", "generator_of"]


def generator_of(disorder: spec.Disorder, lane: str) -> Generator:
    """The generator of one lane.

    Raises:
        ValueError: a generator without an engine; the pipeline file's rules let none through.
    """
    match disorder:
        case spec.Slack(slack_us):
            return SlackTime(slack_us)
        case spec.SlackRows(rows):
            return SlackRows(rows)
        case spec.Heartbeat(sources):
            return Heartbeat(dict(sources)[lane])
        case spec.Punctuation() | spec.OrderedPer(_, None):
            # What is promised for single keys is the clock's affair.
            return Punctuation()
        case spec.OrderedPer(attr, members) if members is not None:
            return OrderedPer(attr, dict(members)[lane])
        case spec.Adaptive():
            return Adaptive(disorder)
    msg = f"{disorder} has no generator: a pipeline file cannot ask for it"
    raise ValueError(msg)
