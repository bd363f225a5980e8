"""The stack that a plan runs on: local processes or containers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace

from chaos.control.node_control import LocalNodeControl, NodeControl
from chaos.faults.kind import StackKind
from infra import stack
from infra.endpoints import Endpoints
from infra.errors import InfraError
from infra.layout import Layout
from infra.proxy import Proxy

News = Callable[[str], None]
"""Receives short progress messages for the user."""


@dataclass(frozen=True)
class StackUnderTest:
    """A running stack, and the means to inject faults into it.

    Attributes:
        look: returns the stack's addresses as this process sees them now.
        seen: the addresses as the job sees them, perhaps with a proxied broker.
        restart: restarts the dead daemons of a component, and waits until they are healthy.
        proxy: the proxy between the job and its broker; None if no fault needs one.
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
    """Start a stack, and stop it at the end.

    Args:
        layout: where its state lives; a stack already running there is used, and stopped.
        components: which components to start; containers always run Kafka and Spark.
        proxied: whether the job must reach the broker through a proxy; needs a single broker.
        brokers: number of brokers; more than one only in containers.

    Raises:
        InfraError: the stack does not start, or does not support this number of brokers.
    """
    if brokers > 1 and kind != "containers":
        msg = (
            f"brokers: {brokers} requires containers, local processes have one: --stack containers"
        )
        raise InfraError(msg)
    if brokers > 1 and proxied:
        msg = f"a proxy needs a single broker, and there are {brokers}: run the plans separately"
        raise InfraError(msg)
    if kind == "containers":
        started = _containers(layout, news, proxied, brokers)
    else:
        started = _processes(layout, news, components, proxied, kind)
    with started as found:
        yield found


@contextmanager
def _processes(
    layout: Layout, news: News, components: Collection[str], proxied: bool, kind: StackKind
) -> Iterator[StackUnderTest]:
    instead = {"spark": "yarn"} if kind == "yarn" else {}
    only = [instead.get(name, name) for name in components]

    def report(component: str, message: str, seconds: float) -> None:
        news(f"{component}: {message} ({seconds:.0f} s)")

    def restart(component: str) -> None:
        stack.up(only=[instead.get(component, component)], layout=layout)

    try:
        endpoints = stack.up(report, only=only, layout=layout)
        with _proxy(endpoints, proxied) as proxy:
            yield StackUnderTest(
                look=lambda: stack.endpoints(layout=layout, only=only, check=False),
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
    # The Docker client is needed for containers only.
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
    return replace(endpoints, kafka_bootstrap=endpoints.kafka_proxy if proxy else direct)
