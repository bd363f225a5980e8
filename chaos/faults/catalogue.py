"""Every fault by the name that it has in plans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from chaos.faults.broker import KillBroker, PauseBroker
from chaos.faults.checkpoint import LoseLastCommit
from chaos.faults.cluster import KillProcess, KillSparkWorker, PauseExecutor
from chaos.faults.fault import Attack
from chaos.faults.topic import DuplicateSends, PoisonRecords

FAULTS: Final[dict[str, Callable[[], Attack]]] = {
    "kill_executor": lambda: KillProcess("executor"),
    "pause_executor": PauseExecutor,
    "kill_python_worker": lambda: KillProcess("python-worker"),
    "kill_driver": lambda: KillProcess("driver"),
    "kill_spark_worker": KillSparkWorker,
    "kill_broker": KillBroker,
    "pause_broker": PauseBroker,
    "lose_last_commit": LoseLastCommit,
    "duplicate_sends": DuplicateSends,
    "poison_records": PoisonRecords,
}


def fault_named(name: str, *, hold_s: float | None = None, records: int | None = None) -> Attack:
    """Make a fault ready to strike.

    Args:
        name: a key of `FAULTS`.
        hold_s: how long it lasts; None: as long as it does well.
        records: how many records are sent twice; None: as many as it does well.
    """
    attack = FAULTS[name]()
    if hold_s is not None:
        attack.hold_s = hold_s
    if records is not None and isinstance(attack, DuplicateSends):
        attack.records = records
    return attack
