"""Errors of faults that had no effect."""

from __future__ import annotations


class FaultDidNotApply(RuntimeError):
    """The fault had no effect, or nothing was there to inject it into."""


class Unsupported(FaultDidNotApply):
    """The fault is not supported on this host; the text says why."""
