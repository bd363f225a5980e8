"""All checks by their names in plans: the built-in ones, then those of plug-ins."""

from __future__ import annotations

from importlib import import_module

from chaos.verdict.check import CHECKS

__all__ = ["CHECKS", "all_checks"]

for _module in ("checks", "same_state"):
    import_module(f"chaos.verdict.{_module}")


def all_checks() -> tuple[str, ...]:
    """Return the checks of a plan that lists none, in order."""
    return tuple(sorted(CHECKS, key=lambda name: (CHECKS[name].order, name)))
