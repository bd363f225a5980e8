"""Faults of a running system: inject, heal, and evidence that they took effect.

A fault without evidence proves nothing: the verdict is then *unknown*, never a pass.
"""

from importlib import import_module
from typing import Final

from chaos.control.node_control import LocalNodeControl, NodeControl
from chaos.errors import FaultDidNotApply
from chaos.faults.cluster import kill_driver, kill_executor
from chaos.faults.fault import Condition, Fault, FaultContext, Inject, InjectedFault, strike
from chaos.faults.kind import FAULTS, FIELDS, Suggestion, fault

__all__ = [
    "FAULTS",
    "Condition",
    "Fault",
    "FaultContext",
    "FaultDidNotApply",
    "Inject",
    "InjectedFault",
    "LocalNodeControl",
    "NodeControl",
    "Suggestion",
    "fault",
    "fault_named",
    "kill_driver",
    "kill_executor",
    "strike",
]

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
