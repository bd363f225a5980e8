"""Faults on a running system: inject, heal, and evidence that they took effect.

A fault without evidence proves nothing: the caller's verdict is then *unknown*, never a pass.
"""

from chaos.control.reach import LocalReach, Reach
from chaos.errors import FaultDidNotApply
from chaos.faults.catalogue import fault_named
from chaos.faults.cluster import kill_driver, kill_executor
from chaos.faults.fault import Attack, Condition, Fault, Inject, Scene, strike

__all__ = [
    "Attack",
    "Condition",
    "Fault",
    "FaultDidNotApply",
    "Inject",
    "LocalReach",
    "Reach",
    "Scene",
    "fault_named",
    "kill_driver",
    "kill_executor",
    "strike",
]
