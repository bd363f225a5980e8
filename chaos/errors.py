"""What a fault raises that did not happen."""

from __future__ import annotations


class FaultDidNotApply(RuntimeError):
    """There was nothing to hurt, or it was not hurt."""


class Unsupported(FaultDidNotApply):
    """This machine cannot be hurt in this way; the text says why."""
