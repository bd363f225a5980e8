"""Every check by the name that it has in plans: those of this room, then those of plug-ins."""

from __future__ import annotations

from importlib import import_module

from chaos.verdict.check import CHECKS

__all__ = ["CHECKS", "all_checks"]

for _module in ("checks", "same_state"):
    import_module(f"chaos.verdict.{_module}")


def all_checks() -> tuple[str, ...]:
    """The checks of a plan that lists none, in their order."""
    return tuple(sorted(CHECKS, key=lambda name: (CHECKS[name].order, name)))
