"""Faults on a running system: inject, heal, and evidence that they took effect.

A fault without evidence proves nothing: the caller's verdict is then *unknown*, never a pass.
"""

from chaos.control.reach import LocalReach, Reach
from chaos.errors import FaultDidNotApply
from chaos.faults.catalogue import FAULTS, fault_named
from chaos.faults.cluster import kill_driver, kill_executor
from chaos.faults.fault import Attack, Condition, Fault, Inject, Scene, strike
from chaos.faults.kind import Suggestion, fault

__all__ = [
    "FAULTS",
    "Attack",
    "Condition",
    "Fault",
    "FaultDidNotApply",
    "Inject",
    "LocalReach",
    "Reach",
    "Scene",
    "Suggestion",
    "fault",
    "fault_named",
    "kill_driver",
    "kill_executor",
    "strike",
]
