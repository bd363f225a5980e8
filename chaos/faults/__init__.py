"""Faults of a running system: inject, heal, and evidence that they took effect.

A fault without evidence proves nothing: the verdict is then *unknown*, never a pass.
"""

from chaos.control.node_control import LocalNodeControl, NodeControl
from chaos.errors import FaultDidNotApply
from chaos.faults.catalogue import FAULTS, fault_named
from chaos.faults.cluster import kill_driver, kill_executor
from chaos.faults.fault import Condition, Fault, FaultContext, Inject, InjectedFault, strike
from chaos.faults.kind import Suggestion, fault

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
