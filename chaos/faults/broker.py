"""Faults of the Kafka broker: killed and started again, paused and let go."""

from __future__ import annotations

from dataclasses import dataclass, field

from chaos.faults.errors import FaultDidNotApply
from chaos.faults.fault import Scene
from infra import kafka
from infra.errors import NotReady
from infra.ports import answers, port_of
from infra.process import ProcessId


@dataclass
class KillBroker:
    """SIGKILL the broker, and start it again later.

    Attributes:
        hold_s: how long there is no broker, in seconds.
    """

    hold_s: float = 5.0

    def inject(self, scene: Scene) -> str:
        """Kill it, and see that nothing answers any more."""
        process = scene.reach.daemon("kafka")
        gone = scene.reach.kill(process)
        if answers(port := port_of(scene.endpoints.kafka_bootstrap)):
            msg = f"the broker, {gone}, but something answers on its port {port}"
            raise FaultDidNotApply(msg)
        return f"the broker, {gone}, nothing answers on its port"

    def heal(self, scene: Scene) -> str:
        """Start it again, and wait until it answers."""
        scene.restart("kafka")
        return "the broker answers again"


@dataclass
class PauseBroker:
    """SIGSTOP the broker: it holds its connections and answers nobody.

    Attributes:
        hold_s: how long, in seconds.
    """

    hold_s: float = 10.0
    _paused: ProcessId | None = field(default=None, init=False)

    def inject(self, scene: Scene) -> str:
        """Pause it, and see that a request stays unanswered."""
        self._paused = scene.reach.daemon("kafka")
        stopped = scene.reach.pause(self._paused)
        try:
            kafka.check(port_of(scene.endpoints.kafka_bootstrap))
        except NotReady:
            return f"the broker, {stopped}, and a request stays unanswered"
        msg = f"the broker, {stopped}, but it answers requests"
        raise FaultDidNotApply(msg)

    def heal(self, scene: Scene) -> str:
        """Let it go on, and wait until it answers."""
        if self._paused is None:
            return "nothing was paused"
        evidence = scene.reach.resume(self._paused)
        scene.restart("kafka")
        return f"the broker answers again, {evidence}"
