"""Faults of the network between the job and its broker."""

from __future__ import annotations

from dataclasses import dataclass, field

from chaos.control.node_control import await_that
from chaos.errors import FaultDidNotApply
from chaos.faults.fault import FaultContext
from chaos.faults.kind import Suggestion, fault
from infra.proxy import Conditions, Proxy

_AGAIN_S = 30.0


@dataclass
class _BadNetwork:
    """A slow or broken network between the job and the broker; other clients are unaffected.

    Attributes:
        cut: whether nothing passes at all.
        bytes_per_s: throughput of a slow network, per connection and direction.
    """

    cut: bool
    hold_s: float = 20.0
    latency_s: float = 0.4
    bytes_per_s: float = 30_000.0
    _passed: int = field(default=0, init=False)
    _broken: int = field(default=0, init=False)

    def inject(self, context: FaultContext) -> str:
        """Degrade the network."""
        proxy = _proxy_of(context)
        self._passed, self._broken = proxy.passed, proxy.broken
        if self.cut:
            proxy.set(Conditions(cut=True))
            return f"{proxy.broken - self._broken} connections are cut"
        proxy.set(Conditions(self.latency_s, self.bytes_per_s))
        return f"{self.latency_s * 1000:.0f} ms more each way, {self.bytes_per_s:.0f} bytes/s"

    def heal(self, context: FaultContext) -> str:
        """Restore the network, and check that the fault affected some traffic.

        Raises:
            FaultDidNotApply: there was no traffic to the broker in the meantime.
        """
        if context.proxy is None:
            return "there was no proxy"
        passed = context.proxy.passed - self._passed
        context.proxy.set(Conditions())
        if self.cut:
            broken = context.proxy.broken - self._broken
            if not broken:
                msg = "no connection of the job was cut or refused"
                raise FaultDidNotApply(msg)
            return f"{broken} connections were cut or refused"
        if not passed:
            msg = "nothing passed between job and broker while it was slow"
            raise FaultDidNotApply(msg)
        return f"{passed} bytes passed slowly"


fault(
    "slow_network",
    takes=("hold",),
    back_s=5,
    ends="cure",
    proxied=True,
    suggestion=Suggestion(11, "a proxy before the broker", aside=True),
)(_BadNetwork, cut=False)
fault("cut_network", takes=("hold",), back_s=3, ends="cure", proxied=True)(_BadNetwork, cut=True)


@fault("reset_connections", back_s=3, proxied=True)
@dataclass
class ResetConnections:
    """Reset of all connections between the job and the broker, as a restarted firewall causes.

    Attributes:
        hold_s: not used: the fault is instantaneous.
    """

    hold_s: float = 0.0
    _opened: int = field(default=0, init=False)

    def inject(self, context: FaultContext) -> str:
        """Reset all connections, of which there must be at least one."""
        proxy = _proxy_of(context)
        before, self._opened = proxy.broken, proxy.opened
        proxy.reset()
        if proxy.broken == before:
            msg = "the job has no connection to the broker: nothing to reset"
            raise FaultDidNotApply(msg)
        return f"{proxy.broken - before} connections were reset"

    def heal(self, context: FaultContext) -> str:
        """Wait until the job has reconnected by itself.

        Raises:
            FaultDidNotApply: the job did not reconnect.
        """
        proxy = _proxy_of(context)
        if not await_that(lambda: proxy.opened > self._opened, _AGAIN_S):
            msg = f"the job made no connection within {_AGAIN_S:.0f} s of the reset"
            raise FaultDidNotApply(msg)
        return f"{proxy.opened - self._opened} connections made again"


def _proxy_of(context: FaultContext) -> Proxy:
    """Return the proxy between the job and the broker.

    Raises:
        FaultDidNotApply: the job uses no proxy.
    """
    if context.proxy is None or context.proxy.passed == 0:
        msg = "the job does not reach the broker through the proxy: nothing to slow, cut or reset"
        raise FaultDidNotApply(msg)
    return context.proxy
