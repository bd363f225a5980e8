"""Every fault by the name that it has in plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from chaos.faults.broker import KillBroker, PauseBroker
from chaos.faults.checkpoint import LoseLastCommit
from chaos.faults.cluster import KillProcess, KillSparkWorker, PauseExecutor
from chaos.faults.damage import DamagedFile, RewoundOffsets
from chaos.faults.deployment import KillAirflowScheduler, KillAirflowTask
from chaos.faults.disk import FullDisk
from chaos.faults.fault import Attack
from chaos.faults.identity import (
    CompactedTopic,
    LostTable,
    OldCheckpoint,
    RecreatedTopic,
    SecondDriver,
)
from chaos.faults.isolation import (
    DisconnectBroker,
    DisconnectSparkWorker,
    LosePackets,
    PauseSparkWorker,
)
from chaos.faults.master import KillSparkMaster
from chaos.faults.network import BadNetwork, ResetConnections
from chaos.faults.partitions import AddedPartition
from chaos.faults.retention import DeletedRecords
from chaos.faults.rolling import RollBrokers, RollSparkWorkers
from chaos.faults.silence import SilentPartition
from chaos.faults.topic import DuplicateSends, HugeRecords, PoisonRecords

End = Literal["itself", "cure", "run"]
"""How a fault ends: the system mends it, somebody does, or the run is over with it."""


@dataclass(frozen=True)
class Kind:
    """What there is to know of a fault before it strikes.

    Attributes:
        make: makes one, ready to strike.
        ends: how it ends. Recovery counts from the injection where the system mends it, from the
            cure where somebody does.
        proxied: whether the job must reach the broker through a proxy.
        reserve: whether records must be held back for it.
        deploys: whether Airflow must run, and know the job's pipeline.
        contained: whether its victims must have a network of their own, as containers do.
        one_topic: whether it works on the log itself, of which there must be one.
    """

    make: Callable[[], Attack]
    ends: End = "itself"
    proxied: bool = False
    reserve: bool = False
    deploys: bool = False
    contained: bool = False
    one_topic: bool = False


FAULTS: Final[dict[str, Kind]] = {
    "kill_executor": Kind(partial(KillProcess, "executor")),
    "pause_executor": Kind(PauseExecutor, "cure"),
    "kill_python_worker": Kind(partial(KillProcess, "python-worker")),
    "kill_driver": Kind(partial(KillProcess, "driver")),
    "kill_spark_worker": Kind(KillSparkWorker, "cure"),
    "roll_spark_workers": Kind(RollSparkWorkers, "cure"),
    "kill_spark_master": Kind(KillSparkMaster, "cure"),
    "kill_broker": Kind(KillBroker, "cure"),
    "pause_broker": Kind(PauseBroker, "cure"),
    "roll_brokers": Kind(RollBrokers, "cure"),
    "disconnect_broker": Kind(DisconnectBroker, "cure", contained=True),
    "disconnect_spark_worker": Kind(DisconnectSparkWorker, "cure", contained=True),
    "pause_spark_worker": Kind(PauseSparkWorker, "cure"),
    "lose_packets": Kind(LosePackets, "cure", contained=True),
    "kill_airflow_task": Kind(KillAirflowTask, "cure", deploys=True),
    "kill_airflow_scheduler": Kind(KillAirflowScheduler, "cure", deploys=True),
    "slow_network": Kind(BadNetwork, "cure", proxied=True),
    "cut_network": Kind(partial(BadNetwork, cut=True), "cure", proxied=True),
    "reset_connections": Kind(ResetConnections, proxied=True),
    "lose_last_commit": Kind(LoseLastCommit),
    "delete_state_delta": Kind(partial(DamagedFile, "delta", "delete"), "cure"),
    "corrupt_state_delta": Kind(partial(DamagedFile, "delta", "corrupt"), "cure"),
    "delete_state_snapshot": Kind(partial(DamagedFile, "snapshot", "delete"), "cure"),
    "corrupt_state_snapshot": Kind(partial(DamagedFile, "snapshot", "corrupt"), "cure"),
    "delete_offsets": Kind(partial(DamagedFile, "offsets", "delete"), "cure"),
    "corrupt_offsets": Kind(partial(DamagedFile, "offsets", "corrupt"), "cure"),
    "rewind_offsets": Kind(RewoundOffsets, "cure", one_topic=True),
    "fill_disk": Kind(FullDisk, "cure"),
    "restore_old_checkpoint": Kind(OldCheckpoint, "cure"),
    "lose_table": Kind(LostTable, "cure"),
    "recreate_topic": Kind(RecreatedTopic, "run", one_topic=True),
    "compact_topic": Kind(CompactedTopic, "cure", one_topic=True),
    "second_driver": Kind(SecondDriver),
    "add_partition": Kind(AddedPartition, "cure", one_topic=True),
    "delete_records": Kind(DeletedRecords, "run", one_topic=True),
    "silent_partition": Kind(SilentPartition, "cure", reserve=True, one_topic=True),
    "duplicate_sends": Kind(DuplicateSends, one_topic=True),
    "poison_records": Kind(PoisonRecords, one_topic=True),
    "huge_records": Kind(HugeRecords, one_topic=True),
}


def fault_named(name: str, *, hold_s: float | None = None, records: int | None = None) -> Attack:
    """Make a fault ready to strike.

    Args:
        name: a key of `FAULTS`.
        hold_s: how long it lasts; None: as long as it does well.
        records: how many records are sent twice; None: as many as it does well.
    """
    attack = FAULTS[name].make()
    if hold_s is not None:
        attack.hold_s = hold_s
    if records is not None and isinstance(attack, DuplicateSends):
        attack.records = records
    return attack
