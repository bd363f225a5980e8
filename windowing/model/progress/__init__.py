"""Generators of progress as data, and how a pipeline file spells them.

A generator states what a lane may assume about the disorder of its records. This package holds its
data; `windowing.engine.progress` computes a lane's bounds, and `windowing.semantics.generators`
defines them. Both look a generator up by name.
"""

from windowing.model.progress.disorder import Disorder, generator
from windowing.model.progress.generators import (
    Adaptive,
    Delays,
    Heartbeat,
    Member,
    OrderedPer,
    Punctuation,
    Slack,
    SlackRows,
    Unordered,
)
from windowing.model.progress.spelling import PluginGenerator, parse_disorder, parse_disorder_of

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
