"""All checks by their names in plans: the built-in ones, then those of plug-ins."""

from __future__ import annotations

import chaos.verdict.checks  # noqa: F401 - registers those built in
from chaos.verdict.check import CHECKS

__all__ = ["CHECKS", "all_checks"]


def all_checks() -> tuple[str, ...]:
    """Return the checks of a plan that lists none, in order."""
    return tuple(sorted(CHECKS, key=lambda name: (CHECKS[name].order, name)))
