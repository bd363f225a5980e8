"""A routine operation: a rolling restart of the Spark workers while the job runs."""

from __future__ import annotations

from dataclasses import dataclass

from chaos.control.node_control import await_that
from chaos.errors import FaultDidNotApply
from chaos.faults.cluster import NOTICED_S, WORKERS, alive_workers, living_drivers
from chaos.faults.fault import FaultContext
from chaos.faults.kind import STANDALONE, fault


@fault("roll_spark_workers", takes=("hold",), back_s=41, ends="cure", stacks=STANDALONE)
@dataclass
class RollSparkWorkers:
    """Rolling restart of the Spark workers, each shut down cleanly, as in an upgrade.

    A worker's executors, and a driver on it, end with it. Spark treats a driver that ends with a
    clean shutdown of its worker as killed on purpose, and does not restart it even under
    supervision. So the run is resubmitted, as the retry of its Airflow task does.

    Attributes:
        hold_s: time to wait after the last restart, in seconds.
    """

    hold_s: float = 0.0

    def inject(self, context: FaultContext) -> str:
        """Restart the workers; check that the master notices each stop and each return.

        Raises:
            FaultDidNotApply: a worker does not stop, or the master does not notice.
        """
        for daemon in WORKERS:
            stopped = context.nodes.stop(context.nodes.daemon(daemon))
            _await(context, len(WORKERS) - 1, f"{daemon}, {stopped}")
            context.restart("spark")
            _await(context, len(WORKERS), f"{daemon} was started again")
        return f"{len(WORKERS)} workers stopped and started in turn; the master missed each"

    def heal(self, context: FaultContext) -> str:
        """Start whatever is still stopped, and resubmit the run if no driver is left."""
        context.restart("spark")
        if living_drivers(context):
            return "all workers run, and so does the driver"
        context.submit_job()
        return "all workers run; the driver had ended with its worker, the run is submitted again"


def _await(context: FaultContext, workers: int, what: str) -> None:
    """Wait until the master counts this many workers."""
    if not await_that(lambda: alive_workers(context) == workers, NOTICED_S):
        msg = f"{what}, but the master does not count {workers} workers after {NOTICED_S:.0f} s"
        raise FaultDidNotApply(msg)
