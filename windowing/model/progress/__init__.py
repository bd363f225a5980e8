"""Generators of progress as data: a file for each, and how a pipeline file spells them.

A generator states what a lane may assume about the disorder of its records. This package holds its
data; `windowing.engine.progress` computes a lane's bounds, and `windowing.semantics.generators`
defines them. Both look a generator up by name.
"""

from windowing.model.progress.adaptive import Adaptive
from windowing.model.progress.disorder import Disorder, generator
from windowing.model.progress.heartbeat import Delays, Heartbeat
from windowing.model.progress.ordered_per import Member, OrderedPer
from windowing.model.progress.plugin import PluginGenerator
from windowing.model.progress.punctuation import Punctuation
from windowing.model.progress.slack import Slack, SlackRows
from windowing.model.progress.spelling import parse_disorder, parse_disorder_of
from windowing.model.progress.unordered import Unordered

__all__ = [
    "Adaptive",
    "Delays",
    "Disorder",
    "Heartbeat",
    "Member",
    "OrderedPer",
    "PluginGenerator",
    "Punctuation",
    "Slack",
    "SlackRows",
    "Unordered",
    "generator",
    "parse_disorder",
    "parse_disorder_of",
]
