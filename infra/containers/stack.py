"""Kafka and a Spark cluster in containers, like `infra.stack` with processes; for chaos.

Its state folder is shared, under the same path: checkpoints and tables are read where they are
written. Everything else is reached through ports on this machine's loopback address.
"""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from infra import kafka, spark
from infra.containers import boxes, engine
from infra.containers.boxes import SharedFolder
from infra.containers.session import Session
from infra.endpoints import Endpoints, broker_name
from infra.errors import InfraError, NotReady
from infra.layout import ROOT, Layout
from infra.ports import free_port, port_of

START_S = 120.0
_POLL_S = 0.5

News = Callable[[str], None]


class ContainerStack:
    """Brokers, a Spark master and two workers, each in a container.

    Args:
        layout: the folders that this machine and the cluster share.
        brokers: how many. With three, every topic has a replica on each, at least two of them in
            sync; a single one has no replicas, and allows a proxy in front of it.
    """

    def __init__(self, layout: Layout, news: News, *, brokers: int = 1) -> None:
        self._layout, self._news = layout, news
        self._session = Session()
        names = tuple(broker_name(number) for number in range(1, brokers + 1))
        self._components = {"kafka": names, "spark": ("spark-master", *spark.WORKER_DAEMONS)}
        self._is_mount = False

    def __enter__(self) -> "ContainerStack":
        """Start everything, on images of this checkout, and wait until it is healthy.

        Raises:
            InfraError: there is no engine, an image cannot be built, or a part does not become
                healthy.
        """
        engine.bring_up(self._news, self._layout)
        build(("kafka", "spark"), self._news)
        began = time.monotonic()
        self._is_mount = _bind(self._layout.state_dir)
        self._session.__enter__()
        try:
            self._start()
            for component in self._components:
                self._await(component)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        self._news(f"containers: all healthy ({time.monotonic() - began:.0f} s)")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the containers, and the engine if it was started for them; data stays."""
        self._session.__exit__(kind, error, trace)
        if self._is_mount:
            subprocess.run(["umount", "--lazy", self._layout.state_dir], check=True)
        engine.take_down(self._layout)

    @property
    def inside(self) -> str:
        """The brokers' addresses inside the cluster."""
        return ",".join(f"{name}:{boxes.INTERNAL}" for name in self._components["kafka"])

    @property
    def session(self) -> Session:
        """The containers, by the names of `infra.stack`'s daemons."""
        return self._session

    @property
    def layout(self) -> Layout:
        """The folders that are shared."""
        return self._layout

    def _start(self) -> None:
        ports = {name: free_port() for name in self._components["kafka"]}
        proxied, proxy, rest, page = (free_port() for _ in range(4))
        at_gateway = f"{self._session.gateway}:{proxy}"
        folder = SharedFolder(self._layout.state_dir, propagates=self._is_mount)
        for box in boxes.brokers(ports, proxied=proxied, proxy=at_gateway):
            self._session.run(box)
        self._session.run(boxes.spark_master(folder, rest=rest, page=page))
        for number in spark.WORKERS:
            cores, memory = spark.WORKER_CORES, spark.WORKER_MEMORY
            self._session.run(boxes.spark_worker(folder, number, cores=cores, memory=memory))
        self.endpoints = Endpoints(
            kafka_bootstrap=",".join(f"127.0.0.1:{port}" for port in ports.values()),
            spark_master="spark://spark-master:7077",
            spark_rest=f"http://127.0.0.1:{rest}",
            spark_ui=f"http://127.0.0.1:{page}",
            airflow_url="",
            airflow_user="",
            airflow_password="",
            state_dir=self._layout.state_dir,
            jars=boxes.connector_jars(),
            kafka_proxied=f"127.0.0.1:{proxied}",
            kafka_proxy=at_gateway,
            code=boxes.CODE,
        )

    def restart(self, component: str) -> None:
        """Restart the dead containers of a component, and wait until all of it is healthy.

        Args:
            component: kafka or spark.

        Raises:
            InfraError: it does not become healthy.
        """
        for name in self._components[component]:
            container = self._session.container(name)
            if container.status != "running":
                container.start()
        self._await(component)

    def _await(self, component: str) -> None:
        until = time.monotonic() + START_S
        while True:
            try:
                self._check(component)
                return
            except NotReady as reason:
                self._look_for_dead(component)
                if time.monotonic() > until:
                    text = f"{component} is not healthy after {START_S:.0f} s: {reason}"
                    raise InfraError(text) from reason
            time.sleep(_POLL_S)

    def _check(self, component: str) -> None:
        if component == "kafka":
            self._check_brokers()
            return
        rest, page = port_of(self.endpoints.spark_rest), port_of(self.endpoints.spark_ui)
        spark.check_master({"spark-rest": rest, "spark-ui": page})
        alive = spark.alive_workers(self.endpoints.spark_ui)
        if alive < len(spark.WORKERS):
            text = f"the master counts on {alive} of {len(spark.WORKERS)} workers"
            raise NotReady(text)

    def _check_brokers(self) -> None:
        for port in self.endpoints.brokers.values():
            kafka.check(port)
        if lagging := kafka.lagging(self.endpoints.kafka_bootstrap):
            text = f"not all replicas are in sync: {', '.join(lagging[:3])}"
            raise NotReady(text)

    def _look_for_dead(self, component: str) -> None:
        for name in self._components[component]:
            container = self._session.container(name)
            if container.status == "exited":
                said = container.logs(tail=3).decode(errors="replace").strip()
                text = f"container {name} has ended: {said}"
                raise InfraError(text)


def build(names: tuple[str, ...], news: News) -> None:
    """Build images of this checkout, reusing what has not changed.

    Raises:
        InfraError: it fails; with the last output of the build.
    """
    began = time.monotonic()
    news(f"building the images {', '.join(names)}")
    done = subprocess.run(
        [ROOT / "infra" / "images" / "build", *names],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
        text = f"the images {', '.join(names)} cannot be built: {' '.join(said)}"
        raise InfraError(text)
    news(f"images {', '.join(names)} are of this checkout ({time.monotonic() - began:.0f} s)")


def _bind(folder: Path) -> bool:
    """Create a folder a mount of its own that passes on what is mounted below it.

    Containers with such a folder see a small file system that is mounted there later. Requires
    root, and an engine on this machine; returns whether it was done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0:
        return False
    for command in (("--bind", folder, folder), ("--make-shared", folder)):
        done = subprocess.run(["mount", *command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return False
    return True
