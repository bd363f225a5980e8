"""The stack that a plan is run on: of processes on this machine, or of containers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Literal, get_args

from chaos.control.node_control import LocalNodeControl, NodeControl
from infra import stack
from infra.endpoints import Endpoints
from infra.errors import InfraError
from infra.layout import Layout
from infra.proxy import Proxy

StackKind = Literal["local", "containers"]
KINDS: tuple[StackKind, ...] = get_args(StackKind)

News = Callable[[str], None]
"""Told in a few words what happens, for whoever waits."""


@dataclass(frozen=True)
class StackUnderTest:
    """A running stack, and the means to hurt it.

    Attributes:
        look: gives the stack's addresses as this process sees them now.
        seen: its addresses as the job sees them: its broker may stand behind a proxy.
        reach: how its parts are reached.
        restart: starts the dead daemons of a component again, and waits until they are well.
        proxy: between the job and its broker; None where no fault needs one.
    """

    look: Callable[[], Endpoints]
    seen: Endpoints
    nodes: NodeControl
    restart: Callable[[str], None]
    proxy: Proxy | None = None


@contextmanager
def stack_under_test(
    kind: StackKind,
    layout: Layout,
    news: News,
    *,
    components: Collection[str],
    proxied: bool,
    brokers: int = 1,
) -> Iterator[StackUnderTest]:
    """Start a stack, and stop it in the end.

    Args:
        kind: of processes, or of containers.
        layout: where its state lies; another's stack there is used, and stopped.
        news: told what happens.
        components: which parts; in containers there are Kafka and Spark, wanted or not.
        proxied: whether the job must reach the broker through a proxy; of several it cannot.
        brokers: how many; more than one in containers only.

    Raises:
        InfraError: it does not start, or cannot have so many brokers.
    """
    if brokers > 1 and kind == "local":
        msg = (
            f"brokers: {brokers} takes containers, there is one among processes: --stack containers"
        )
        raise InfraError(msg)
    if brokers > 1 and proxied:
        msg = f"a proxy stands before the only broker, and here are {brokers}: run the plans apart"
        raise InfraError(msg)
    if kind == "local":
        started = _local(layout, news, components, proxied)
    else:
        started = _containers(layout, news, proxied, brokers)
    with started as found:
        yield found


@contextmanager
def _local(
    layout: Layout, news: News, components: Collection[str], proxied: bool
) -> Iterator[StackUnderTest]:
    def told(component: str, message: str, seconds: float) -> None:
        news(f"{component}: {message} ({seconds:.0f} s)")

    def restart(component: str) -> None:
        stack.up(only=[component], layout=layout)

    try:
        endpoints = stack.up(told, only=components, layout=layout)
        with _proxy(endpoints, proxied) as proxy:
            yield StackUnderTest(
                look=lambda: stack.endpoints(layout=layout, only=components, check=False),
                seen=_through(endpoints, proxy, endpoints.kafka_bootstrap),
                nodes=LocalNodeControl(layout),
                restart=restart,
                proxy=proxy,
            )
    finally:
        stack.down(layout=layout)


@contextmanager
def _containers(
    layout: Layout, news: News, proxied: bool, brokers: int
) -> Iterator[StackUnderTest]:
    # Only who asks for containers needs the client of an engine.
    from chaos.control.containers import ContainerNodeControl  # noqa: PLC0415
    from infra.containers.stack import ContainerStack  # noqa: PLC0415

    with (
        ContainerStack(layout, news, brokers=brokers) as running,
        _proxy(running.endpoints, proxied) as proxy,
    ):
        yield StackUnderTest(
            look=lambda: running.endpoints,
            seen=_through(running.endpoints, proxy, running.inside),
            nodes=ContainerNodeControl(running),
            restart=running.restart,
            proxy=proxy,
        )


def _proxy(endpoints: Endpoints, wanted: bool) -> AbstractContextManager[Proxy | None]:
    return Proxy(endpoints.kafka_proxy, endpoints.kafka_proxied) if wanted else nullcontext()


def _through(endpoints: Endpoints, proxy: Proxy | None, direct: str) -> Endpoints:
    """The stack as the job sees it: its broker behind the proxy, or by its own address."""
    return replace(endpoints, kafka_bootstrap=endpoints.kafka_proxy if proxy else direct)
