"""No fault but an everyday one: Spark workers are restarted in turn while the job runs."""

from __future__ import annotations

from dataclasses import dataclass

from chaos.control.node_control import await_that
from chaos.errors import FaultDidNotApply
from chaos.faults.cluster import NOTICED_S, WORKERS, alive_workers, living_drivers
from chaos.faults.fault import FaultContext
from chaos.faults.kind import fault


@fault("roll_spark_workers", takes=("hold",), back_s=41, ends="cure")
@dataclass
class RollSparkWorkers:
    """Stop each worker in good order and start it again, one after another, as upgrades do.

    Its executors go with it, and a driver on it: Spark takes a driver that ends with its worker in
    good order for killed on purpose, and does not start it again, supervised or not. So the run is
    submitted again, as the retry of its Airflow task does.

    Attributes:
        hold_s: how long to wait once all have had their turn, in seconds.
    """

    hold_s: float = 0.0

    def inject(self, context: FaultContext) -> str:
        """Restart them all; see that the master misses each, and knows it again.

        Raises:
            FaultDidNotApply: one does not stop, or the master takes no notice.
        """
        for daemon in WORKERS:
            stopped = context.nodes.stop(context.nodes.daemon(daemon))
            _await(context, len(WORKERS) - 1, f"{daemon}, {stopped}")
            context.restart("spark")
            _await(context, len(WORKERS), f"{daemon} was started again")
        return f"{len(WORKERS)} workers stopped and started in turn; the master missed each"

    def heal(self, context: FaultContext) -> str:
        """Start what still stands still, and the run again if no driver is left."""
        context.restart("spark")
        if living_drivers(context):
            return "all workers run, and so does the driver"
        context.submit_job()
        return "all workers run; the driver had ended with its worker, the run is submitted again"


def _await(context: FaultContext, workers: int, what: str) -> None:
    """Wait until the master counts so many workers."""
    if not await_that(lambda: alive_workers(context) == workers, NOTICED_S):
        msg = f"{what}, but the master does not count {workers} workers after {NOTICED_S:.0f} s"
        raise FaultDidNotApply(msg)
