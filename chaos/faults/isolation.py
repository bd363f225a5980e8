"""Faults of a part's own network: taken from it, or losing packets. They need containers."""

from __future__ import annotations

from dataclasses import dataclass, field

from chaos.faults.cluster import busy_worker
from chaos.faults.errors import FaultDidNotApply
from chaos.faults.fault import Scene
from infra import kafka
from infra.errors import NotReady
from infra.ports import port_of
from infra.process import ProcessId


@dataclass
class DisconnectBroker:
    """Take the broker from the network: it runs on and hears nobody.

    Attributes:
        hold_s: how long, in seconds.
    """

    hold_s: float = 10.0

    def inject(self, scene: Scene) -> str:
        """Take it away, and see that a request stays unanswered."""
        cut = scene.reach.cut_off("kafka")
        try:
            kafka.check(port_of(scene.endpoints.kafka_bootstrap))
        except NotReady:
            return f"the broker, {cut}, and a request stays unanswered"
        msg = f"the broker, {cut}, but it answers requests"
        raise FaultDidNotApply(msg)

    def heal(self, scene: Scene) -> str:
        """Put it back, and wait until it answers."""
        joined = scene.reach.join("kafka")
        scene.restart("kafka")
        return f"the broker answers again, {joined}"


@dataclass
class DisconnectSparkWorker:
    """Take a worker with all that it runs from the network, as a machine whose cable is pulled.

    Its executors, and a driver on it, run on and reach neither broker nor master; only the shared
    folder of checkpoints and tables is still theirs, so that a zombie could do harm.

    Attributes:
        hold_s: how long, in seconds; the master gives a worker up after a minute of silence.
    """

    hold_s: float = 75.0
    _daemon: str = field(default="", init=False)

    def inject(self, scene: Scene) -> str:
        """Take one away, drawn from those that have work."""
        self._daemon, _, offspring = busy_worker(scene)
        return f"{self._daemon} with {offspring} processes, {scene.reach.cut_off(self._daemon)}"

    def heal(self, scene: Scene) -> str:
        """Put it back."""
        if not self._daemon:
            return "nothing was cut off"
        joined = scene.reach.join(self._daemon)
        scene.restart("spark")
        return f"{self._daemon}, {joined}"


@dataclass
class PauseSparkWorker:
    """Freeze a worker; in a container, with all that it runs, as a machine that hangs.

    Attributes:
        hold_s: how long, in seconds.
    """

    hold_s: float = 25.0
    _paused: ProcessId | None = field(default=None, init=False)

    def inject(self, scene: Scene) -> str:
        """Freeze one, drawn from those that have work."""
        daemon, self._paused, offspring = busy_worker(scene)
        return f"{daemon} with {offspring} processes, {scene.reach.pause(self._paused)}"

    def heal(self, scene: Scene) -> str:
        """Let it go on."""
        if self._paused is None:
            return "nothing was paused"
        resumed = scene.reach.resume(self._paused)
        scene.restart("spark")
        return resumed


@dataclass
class LosePackets:
    """Drop a share of the packets that come in for the broker.

    Attributes:
        share: of all of them, between 0 and 1.
        hold_s: how long, in seconds.
    """

    share: float = 0.2
    hold_s: float = 20.0
    _losing: bool = field(default=False, init=False)

    def inject(self, scene: Scene) -> str:
        """Begin to drop them."""
        losing = scene.reach.lose_packets("kafka", self.share)
        self._losing = True
        return f"the broker, {losing}"

    def heal(self, scene: Scene) -> str:
        """Let everything through again, and see that something was dropped.

        Raises:
            FaultDidNotApply: nothing was.
        """
        if not self._losing:
            return "nothing was dropped"
        dropped = scene.reach.keep_packets("kafka")
        if not dropped:
            msg = "no packet came in for the broker, so none was dropped"
            raise FaultDidNotApply(msg)
        return f"{dropped} packets were dropped"
