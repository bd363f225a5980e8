"""Faults of the network between the job and its broker."""

from __future__ import annotations

from dataclasses import dataclass, field

from chaos.faults.fault import FaultDidNotApply, Scene
from infra.proxy import Conditions


@dataclass
class BadNetwork:
    """Slow down or cut what passes between the job and the broker; others keep a good network.

    Attributes:
        cut: nothing passes at all.
        hold_s: how long it is bad, in seconds.
        latency_s: how long each piece of data is held where it is slow.
        bytes_per_s: how much passes where it is slow, per connection and direction.
    """

    cut: bool = False
    hold_s: float = 20.0
    latency_s: float = 0.4
    bytes_per_s: float = 30_000.0
    _passed: int = field(default=0, init=False)
    _broken: int = field(default=0, init=False)

    def inject(self, scene: Scene) -> str:
        """Make it bad from now on."""
        if scene.proxy is None or scene.proxy.passed == 0:
            msg = "the job does not reach the broker through the proxy: nothing to slow or cut"
            raise FaultDidNotApply(msg)
        self._passed, self._broken = scene.proxy.passed, scene.proxy.broken
        if self.cut:
            scene.proxy.set(Conditions(cut=True))
            return f"{scene.proxy.broken - self._broken} connections are cut"
        scene.proxy.set(Conditions(self.latency_s, self.bytes_per_s))
        return f"{self.latency_s * 1000:.0f} ms more each way, {self.bytes_per_s:.0f} bytes/s"

    def heal(self, scene: Scene) -> str:
        """Make it good again, and see what came to pass meanwhile.

        Raises:
            FaultDidNotApply: nobody wanted anything of the broker while it was bad.
        """
        if scene.proxy is None:
            return "there was no proxy"
        passed = scene.proxy.passed - self._passed
        scene.proxy.set(Conditions())
        if self.cut:
            broken = scene.proxy.broken - self._broken
            if not broken:
                msg = "no connection of the job was cut or refused"
                raise FaultDidNotApply(msg)
            return f"{broken} connections were cut or refused"
        if not passed:
            msg = "nothing passed between job and broker while it was slow"
            raise FaultDidNotApply(msg)
        return f"{passed} bytes passed slowly"
