"""The local stack: Kafka, Spark or YARN, and Airflow as processes, on the loopback address.

`up` starts what is not running, `down` stops everything, `status` shows it, `endpoints` returns the
addresses. `stack.json` records what is running (see infra/record.py).
"""

import hashlib
import json
import threading
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import psutil

from infra import airflow, elsewhere, kafka, kafka_settings, restarts, spark, yarn
from infra.addresses import addresses, as_started, has_run
from infra.daemon import Daemon, Ports, shared_environment
from infra.endpoints import Endpoints
from infra.errors import InfraError, NotReady
from infra.layout import Layout, default_layout
from infra.ports import is_free, pick
from infra.private import forget_all
from infra.process import ProcessId, is_alive, marked, memory_of, start, stop
from infra.record import Record, RunningDaemon, only_one, read
from infra.state_folder import claim

PARTS = {"kafka": kafka, "spark": spark, "airflow": airflow, "yarn": yarn}
"""The components by name; each module has PORTS and `component(layout, ports)`."""

STACKS = {"standalone": ("kafka", "spark", "airflow"), "yarn": ("kafka", "yarn", "airflow")}
"""The components of a whole stack, by the name of what manages its machines."""

USUAL = STACKS["standalone"]

POLL_S = 0.25
_HOSTS = frozenset({*spark.WORKER_DAEMONS, yarn.NODE_DAEMON})  # their children are jobs
_SPARK_GRACE_S = (("spark-worker", 10.0), ("spark-master", 10.0))


class Reporter(Protocol):
    """Gets progress messages of a start or a stop, one at a time."""

    def __call__(self, component: str, message: str, seconds: float) -> None:
        """Take one message.

        Args:
            component: kafka, spark, airflow or yarn.
            message: what happened, in a few words.
            seconds: since `up` or `down` was called.
        """


def silent(component: str, message: str, seconds: float) -> None:
    """A reporter that discards all messages."""


@dataclass(frozen=True)
class DaemonStatus:
    """The status of one daemon.

    Attributes:
        state: `healthy`, `starting` (not yet healthy, within the time that its start may take),
            `unwell` (running, but failing its health check), `dead` (was started, and has ended) or
            `stopped`.
        detail: why it is not yet or no longer healthy; else empty.
        pid: of its process; None if there is none.
        memory_bytes: resident memory of the process and its descendants; shared memory counts once.
        uptime_s: how long it has been running.
    """

    name: str
    state: str
    detail: str
    pid: int | None
    memory_bytes: int
    uptime_s: float
    log: Path


def up(
    reporter: Reporter = silent,
    *,
    only: Collection[str] = USUAL,
    layout: Layout | None = None,
    may_end: restarts.MayEnd = restarts.refuse,
) -> Endpoints:
    """Start what is not running yet, all components in parallel, and wait until it is healthy.

    A healthy daemon is left alone; a dead one, or one whose settings have changed, is restarted.
    Everything that starts is recorded at once: after an interruption the next `up` continues, and
    `down` cleans up.

    Args:
        only: names of the wanted components, of kafka, spark, airflow and yarn.
        layout: where the state is; default: from the environment, with the broker of the Kafka
            settings, if any.
        may_end: asked before a host of jobs is restarted.

    Raises:
        InfraError: a component did not become healthy; says which, why, and where its log is. Or
            jobs would end that may not.
    """
    if layout is None and elsewhere.is_named():
        return endpoints(only=only)  # it was started by whoever set the variables
    if layout is None and kafka_settings.settings() is not None:
        up(reporter, only=_local(only), layout=default_layout(), may_end=may_end)
        return endpoints(only=only)
    layout = layout or default_layout()
    news = _News(reporter)
    claim(layout)
    layout.make_private()
    with only_one(layout):
        record = read(layout)
        if any(_host_changes(name, layout, record) for name in only):
            restarts.check(addresses(layout, record, ()), may_end)
        with ThreadPoolExecutor(max_workers=len(PARTS)) as pool:
            starts = [pool.submit(_bring_up, name, layout, record, news) for name in only]
            wait(starts)
        failures = [error for error in (one.exception() for one in starts) if error]
        unexpected = [error for error in failures if not isinstance(error, InfraError)]
        if unexpected:
            raise unexpected[0]
        if failures:
            raise InfraError("; ".join(str(error) for error in failures))
    return endpoints(layout=layout, only=only)


def down(reporter: Reporter = silent, *, layout: Layout | None = None) -> int:
    """Stop the stack and everything it started; data stays.

    Returns:
        The number of daemons that were running.

    Raises:
        InfraError: a process cannot be stopped.
    """
    layout = layout or default_layout()
    news = _News(reporter)
    with only_one(layout):
        record = read(layout)
        alive = {name: one for name, one in record.running.items() if is_alive(one.process)}
        for names, grace_s in _stop_order(alive):
            stop([alive[name].process for name in names], grace_s=grace_s)
            news(names[0].split("-")[0], f"stopped {', '.join(names)}")
        stop(marked(layout.state_dir), grace_s=2.0)
        if _HOSTS & record.running.keys():
            forget_all(layout.state_dir)  # their jobs ended with them
        record.ended(list(record.running))
    return len(alive)


def status(*, layout: Layout | None = None) -> list[DaemonStatus]:
    """Return the status of every daemon, without changing anything."""
    layout = layout or default_layout()
    record = read(layout)
    found = []
    for module in PARTS.values():
        if not set(module.PORTS) <= set(record.ports):
            continue  # never started here
        for daemon in module.component(layout, record.ports).daemons:
            found.append(_look(daemon, record.running.get(daemon.name), layout))
    return found


def endpoints(
    *, layout: Layout | None = None, only: Collection[str] = USUAL, check: bool = True
) -> Endpoints:
    """Return the addresses of the running stack; those of components left out are empty.

    Args:
        layout: where the state is; default: from the environment.
        check: whether their processes must be running now; not for chaos, which kills them.

    Raises:
        InfraError: the stack was not started, or a wanted component is dead; says what to do.
    """
    if layout is None and elsewhere.is_named():
        return elsewhere.endpoints(only, user=airflow.USER, jars=spark.connector_jars())
    users = kafka_settings.settings() if layout is None else None
    if users is not None:
        found = endpoints(layout=default_layout(), only=_local(only), check=check)
        return replace(found, kafka_bootstrap=users.bootstrap, kafka_proxied="", kafka_proxy="")
    layout = layout or default_layout()
    record = read(layout)
    only = as_started(only, record)
    missing = sorted(name for name in only if not has_run(name, record))
    dead = sorted(
        name
        for name, one in record.running.items()
        if name.split("-")[0] in only and not is_alive(one.process)
    )
    if missing:
        text = f"the local stack is not running ({', '.join(missing)} was not started)"
        text += "; start it with `slackwater up`"
        raise InfraError(text)
    if check and dead:
        logs = ", ".join(record.running[name].log for name in dead)
        text = f"{', '.join(dead)} is dead; start it again with `slackwater up`; log: {logs}"
        raise InfraError(text)

    return addresses(layout, record, only)


def process_of(daemon: str, *, layout: Layout | None = None) -> ProcessId:
    """Return the process of a daemon, to inspect or kill it.

    Args:
        daemon: its name as `status` shows it, for instance `kafka` or `spark-worker-1`.
        layout: where the state is; default: from the environment.

    Raises:
        InfraError: no such daemon is running.
    """
    running = read(layout or default_layout()).running
    if daemon not in running or not is_alive(running[daemon].process):
        text = f"no daemon {daemon} is running; on record: {', '.join(sorted(running)) or 'none'}"
        raise InfraError(text)
    return running[daemon].process


# --- starting ----------------------------------------------------------------------------------


class _News:
    """Forwards messages, one at a time, with the seconds since it was created."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._began = time.monotonic()
        self._guard = threading.Lock()

    def __call__(self, component: str, message: str) -> None:
        with self._guard:
            self._reporter(component, message, time.monotonic() - self._began)


def _bring_up(name: str, layout: Layout, record: Record, news: _News) -> None:
    try:
        _start_component(name, layout, record, news)
    except InfraError:
        dead = not any(one.startswith(name) for one in _alive(record))
        if not dead or all(is_free(record.ports[port]) for port in PARTS[name].PORTS):
            raise
        news(name, "a port was taken meanwhile; trying others")
        _start_component(name, layout, record, news)


def _start_component(name: str, layout: Layout, record: Record, news: _News) -> None:
    ports = _choose_ports(name, record)
    component = PARTS[name].component(layout, ports)
    wanted = [daemon for daemon in component.daemons if not _is_current(daemon, record)]
    if wanted:
        component.prepare()
    for stage in component.stages:
        for daemon in stage:
            if daemon in wanted:
                _start_daemon(daemon, layout, record)
        for daemon in stage:
            _await_health(daemon, record)
    changed = ", ".join(daemon.name for daemon in wanted)
    news(name, f"healthy (started {changed})" if wanted else "healthy (was running)")


_choosing = threading.Lock()


def _choose_ports(name: str, record: Record) -> Ports:
    """Choose the ports of the last start if they are free or our own, else others."""
    module = PARTS[name]
    with _choosing:
        keep = any(one.startswith(name) for one in _alive(record))
        chosen: dict[str, int] = {}
        for port, preferred in module.PORTS.items():
            last = record.ports.get(port, preferred)
            others = {held for key, held in record.ports.items() if key not in module.PORTS}
            liked = {other for part in PARTS.values() for other in part.PORTS.values()} - {last}
            avoid = others | liked | set(chosen.values())
            chosen[port] = last if keep and port in record.ports else pick(last, avoid)
        record.promise(chosen)
    return chosen


def _alive(record: Record) -> list[str]:
    return [name for name, one in list(record.running.items()) if is_alive(one.process)]


def _is_current(daemon: Daemon, record: Record) -> bool:
    running = record.running.get(daemon.name)
    return running is not None and running.recipe == _recipe(daemon) and is_alive(running.process)


def _host_changes(name: str, layout: Layout, record: Record) -> bool:
    """Whether a living host of jobs is to be restarted with other settings."""
    hosts = _HOSTS.intersection(_alive(record))
    if not any(host.startswith(name) for host in hosts):
        return False
    daemons = PARTS[name].component(layout, record.ports).daemons
    return any(one.name in hosts and not _is_current(one, record) for one in daemons)


def _recipe(daemon: Daemon) -> str:
    made_of = json.dumps([daemon.command, sorted(daemon.environment.items())])
    return hashlib.sha256(made_of.encode()).hexdigest()


def _start_daemon(daemon: Daemon, layout: Layout, record: Record) -> None:
    old = record.running.get(daemon.name)
    if old is not None:
        stop([old.process], grace_s=daemon.stop_s)
    log = layout.logs / f"{daemon.name}.log"
    environment = shared_environment(layout, daemon.keeps) | dict(daemon.environment)
    process = start(daemon.command, log=log, environment=environment, cwd=daemon.cwd)
    try:
        record.started(daemon.name, RunningDaemon(process, _recipe(daemon), str(log)))
    except InfraError:
        stop([process], grace_s=1.0)  # what is not recorded could not be stopped later
        raise


def _await_health(daemon: Daemon, record: Record) -> None:
    """Wait until the daemon is healthy.

    Raises:
        InfraError: it died, or its time is up.
    """
    running = record.running[daemon.name]
    until = time.monotonic() + daemon.start_s
    began = _began(running.process)
    while True:
        if began is None or not is_alive(running.process):
            text = f"{daemon.name} died while starting; {_last_words(Path(running.log))}"
            raise InfraError(text)
        try:
            daemon.check(began)
            return
        except NotReady as reason:
            if time.monotonic() > until:
                text = f"{daemon.name} is not healthy after {daemon.start_s:.0f} s: {reason}"
                raise InfraError(f"{text}; log: {running.log}") from reason
        time.sleep(POLL_S)


def _began(process: ProcessId) -> float | None:
    try:
        return psutil.Process(process.pid).create_time()
    except psutil.NoSuchProcess:
        return None


def _last_words(log: Path) -> str:
    try:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    except OSError:
        lines = []
    telling = [line for line in lines if "rror" in line or "xception" in line] or lines
    return f"log: {log}; last error there: {telling[-1][:200]}" if telling else f"log: {log}"


# --- stopping and looking ----------------------------------------------------------------------


def _stop_order(alive: Collection[str]) -> list[tuple[list[str], float]]:
    """Return groups of daemons with their grace: schedulers first, data stores last."""
    groups = (("airflow", 15.0), ("yarn", 15.0), *_SPARK_GRACE_S, ("kafka", 20.0))
    ordered = [([name for name in alive if name.startswith(key)], s) for key, s in groups]
    return [(sorted(names), grace_s) for names, grace_s in ordered if names]


def _look(daemon: Daemon, running: RunningDaemon | None, layout: Layout) -> DaemonStatus:
    log = layout.logs / f"{daemon.name}.log"
    if running is None:
        return DaemonStatus(daemon.name, "stopped", "", None, 0, 0.0, log)
    began = _began(running.process)
    if began is None or not is_alive(running.process):
        return DaemonStatus(daemon.name, "dead", "", None, 0, 0.0, log)
    try:
        daemon.check(began)
        state, detail = "healthy", ""
    except NotReady as reason:
        starts = time.time() - began < daemon.start_s
        state, detail = "starting" if starts else "unwell", str(reason)
    pid = running.process.pid
    return DaemonStatus(daemon.name, state, detail, pid, memory_of(pid), time.time() - began, log)


def _local(only: Collection[str]) -> list[str]:
    """Return our components if Kafka is the user's own cluster."""
    return [name for name in only if name != "kafka"]
