"""Containers on their own network that are removed when the session ends, however it ends.

All of them carry a label that names the process they belong to. Each new session first removes what
belongs to processes that are gone.
"""

import ipaddress
import os
import socket
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import docker
from docker.errors import DockerException, NotFound
from docker.models.containers import Container
from docker.types import IPAMConfig, IPAMPool

from infra.errors import InfraError
from infra.process import ProcessId, identify, is_alive

if TYPE_CHECKING:
    from testcontainers.core.network import Network

OWNER = "slackwater.owner"
"""Label of everything that a session creates: host, pid and start time of its process."""

PIDS_MAX = 8192
"""The most processes and threads of a container, as of a worker in docker-compose.yml."""

_LIMITED = {"security_opt": ["no-new-privileges:true"]}
_CONFINED = {**_LIMITED, "cap_drop": ["ALL"], "read_only": True}


@dataclass(frozen=True)
class Box:
    """The specification of a container.

    Attributes:
        name: on its network, and as the host's name inside.
        command: its arguments; empty for those of the image.
        environment: added to the image's.
        ports: by port inside, the port on this machine's loopback address.
        mounts: folders or files of this machine, under the same paths inside; with options.
        tmpfs: by path inside, the options of a file system in memory there, as `size=64m`.
        user: `uid:gid`; empty for the image's.
        memory: the limit, as `1g`.
        confined: whether it has no capabilities, and may write only to its mounts and volumes, like
            the containers of docker-compose.yml.
    """

    name: str
    image: str
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    ports: Mapping[int, int] = field(default_factory=dict)
    mounts: Mapping[Path, str] = field(default_factory=dict)
    tmpfs: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    memory: str = "1g"
    confined: bool = False


class Session:
    """A network, and the containers on it.

    They are created by testcontainers, which can find an engine in many places, and adds its own
    session label to ours.
    """

    def __init__(self) -> None:
        # Its image is a third party's, which many machines cannot pull; the sweep does its work.
        os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")
        # Ports are published on the loopback address, even if we are in a container ourselves.
        os.environ.setdefault("TESTCONTAINERS_HOST_OVERRIDE", "localhost")
        self._containers: dict[str, Container] = {}
        self._lent: dict[str, str] = {}

    def __enter__(self) -> "Session":
        """Remove leftovers, and create the network.

        Raises:
            InfraError: the engine does not answer.
        """
        from testcontainers.core.network import Network  # noqa: PLC0415 - reads its settings once

        try:
            sweep()
            found = Network(docker_network_kw={"labels": _labels()}).create()
            # Addresses can only be chosen in a given subnet: the engine has found a free one.
            pool = IPAMPool(subnet=self._addresses(found)["Subnet"])
            found.remove()
            options = {"labels": _labels(), "ipam": IPAMConfig(pool_configs=[pool])}
            self.network = Network(docker_network_kw=options).create()
        except DockerException as error:
            text = f"the Docker engine does not do what it is asked to: {error}"
            raise InfraError(text) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the containers, their volumes, and the network."""
        for container in self._containers.values():
            _remove(container)
        self.network.remove()

    @property
    def gateway(self) -> str:
        """Return this machine's address on the network."""
        subnet = ipaddress.ip_network(self._addresses(self.network)["Subnet"])
        return str(next(subnet.hosts()))

    def run(self, box: Box) -> Container:
        """Start a container, without waiting for it.

        Raises:
            InfraError: the engine refuses it.
        """
        from testcontainers.core.container import DockerContainer  # noqa: PLC0415

        made = DockerContainer(box.image).with_network(self.network).with_network_aliases(box.name)
        if box.command:
            made.with_command(list(box.command))
        made.with_envs(**box.environment)
        for shared, options in box.mounts.items():
            made.with_volume_mapping(str(shared), str(shared), options)
        for inside, options in box.tmpfs.items():
            made.with_tmpfs_mount(inside, options)
        given: dict[str, Any] = {"user": box.user} if box.user else {}
        given |= _CONFINED if box.confined else _LIMITED
        # Given here, since testcontainers would publish them on all addresses.
        made.ports = {str(inside): ("127.0.0.1", port) for inside, port in box.ports.items()}  # type: ignore[misc]
        made.with_kwargs(
            labels=_labels(),
            init=True,
            hostname=box.name,
            mem_limit=box.memory,
            pids_limit=PIDS_MAX,
            **given,
        )
        try:
            started = made.start().get_wrapped_container()
        except DockerException as error:
            text = f"container {box.name} of {box.image} does not start: {error}"
            raise InfraError(text) from error
        self._containers[box.name] = started
        return started

    def container(self, name: str) -> Container:
        """Return a container of this session in its current state.

        Raises:
            InfraError: it has none of this name.
        """
        if name not in self._containers:
            text = f"no container {name} here: there are {', '.join(sorted(self._containers))}"
            raise InfraError(text)
        self._containers[name].reload()
        return self._containers[name]

    def remove(self, name: str) -> None:
        """Remove a container before the session ends, with its volumes.

        Raises:
            InfraError: there is none of this name.
        """
        _remove(self.container(name))
        del self._containers[name]

    def disconnect(self, name: str) -> None:
        """Disconnect a container from the network; it keeps running."""
        container = self.container(name)
        # Servers inside are bound to it, and would not notice another one.
        self._lent[name] = self._networks(name)[self.network.name]["IPAddress"]
        with _client() as client:
            client.networks.get(self.network.name).disconnect(container, force=True)

    def connect(self, name: str) -> None:
        """Reconnect a container to the network, under its name and address."""
        address = self._lent.pop(name)
        with _client() as client:
            client.networks.get(self.network.name).connect(
                self.container(name), aliases=[name], ipv4_address=address
            )

    def is_connected(self, name: str) -> bool:
        """Whether a container is on the network."""
        return self.network.name in self._networks(name)

    def _networks(self, name: str) -> dict[str, Any]:
        return dict(self.container(name).attrs["NetworkSettings"]["Networks"])

    def _addresses(self, network: "Network") -> dict[str, str]:
        with _client() as client:
            return dict(client.networks.get(network.name).attrs["IPAM"]["Config"][0])


def sweep() -> int:
    """Remove containers and networks whose processes are gone; return how many.

    Raises:
        DockerException: the engine does not answer.
    """
    swept = 0
    with _client() as client:
        for container in client.containers.list(all=True, filters={"label": OWNER}):
            if _is_orphan(container.labels[OWNER]):
                _remove(container)
                swept += 1
        for network in client.networks.list(filters={"label": OWNER}):
            if _is_orphan(network.attrs["Labels"][OWNER]):
                network.remove()
                swept += 1
    return swept


def _client() -> closing[docker.DockerClient]:
    return closing(docker.from_env())


def _labels() -> dict[str, str]:
    own = identify(os.getpid())
    started = own.started if own else 0.0
    return {OWNER: f"{socket.gethostname()} {os.getpid()} {started}"}


def _is_orphan(owner: str) -> bool:
    """Whether the process of a label ran on this machine and is gone."""
    host, pid, started = owner.split()
    return host == socket.gethostname() and not is_alive(ProcessId(int(pid), float(started)))


def _remove(container: Container) -> None:
    with suppress(NotFound):
        container.remove(force=True, v=True)
