"""Drivers that their cluster has forgotten: Spark's would wait forever; ours exits.

A standalone master forgets the application of a driver that has been silent for a while, for
instance because its machine was off the network. The executors end, no others are started, and the
driver waits for the master to reconnect, which happens only if the master itself has recovered. A
supervised driver that ends with an error is restarted, and registers again. Found by the chaos plan
`containers/isolation.yml`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from pyspark.sql import SparkSession

LOST_S = 60.0
"""How long a driver waits without any executor, once it has had some; a cluster needs seconds."""


class ExecutorsLost(RuntimeError):
    """The loss of all executors without replacement."""


class Orphan:
    """A detector of a driver that has had no executors for too long.

    A driver that never had one is ignored: it waits its turn on a busy cluster.

    Args:
        count: returns the current number of executors.
        now_s: a clock, in seconds.
    """

    def __init__(
        self, count: Callable[[], int], now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._count, self._now_s = count, now_s
        self._seen_s: float | None = None

    def look(self) -> None:
        """Count the executors.

        Raises:
            ExecutorsLost: there were some, and there have been none for `LOST_S`.
        """
        if self._count():
            self._seen_s = self._now_s()
        elif self._seen_s is not None and self._now_s() - self._seen_s > LOST_S:
            msg = (
                f"no executor for {LOST_S:.0f} s: the master has forgotten this application, or "
                "all workers are gone; it ends, so that it is restarted and registers again"
            )
            raise ExecutorsLost(msg)


def executors(spark: SparkSession) -> int:
    """Count the executors of a session, without the driver; a local session is its own executor."""
    tracker = spark.sparkContext._jsc.sc().statusTracker()  # PySpark has no call for it
    return len(tracker.getExecutorInfos()) - (not spark.sparkContext.master.startswith("local"))
