"""All faults by their names in plans: the built-in ones, then those of plug-ins."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from chaos.faults.fault import Fault
from chaos.faults.kind import FAULTS, FIELDS

__all__ = ["FAULTS", "fault_named"]

# Users see the faults in this order: by the part of the system that they hit.
_MODULES: Final = (
    *("cluster", "daemons", "broker", "isolation", "deployment", "network", "checkpoint"),
    *("disk", "identity", "topic", "producer", "hostile", "written_files"),
)
for _module in _MODULES:
    import_module(f"chaos.faults.{_module}")


def fault_named(name: str, *, hold_s: float | None = None, records: int | None = None) -> Fault:
    """Make a fault, ready to be injected.

    Args:
        name: a key of `FAULTS`.
        hold_s: its duration in seconds; None: the fault's default.
        records: number of records that it sends; None: the fault's default. Ignored by faults
            without this parameter.
    """
    kind = FAULTS[name]
    made = kind.make()
    given = {"hold": hold_s, "records": records if "records" in kind.takes else None}
    for parameter, field in FIELDS.items():
        if given[parameter] is not None:
            setattr(made, field, given[parameter])
    return made
