"""Where the stack is found: ports of this machine, and services elsewhere."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
import yaml

from infra import airflow, outside, ports
from infra.endpoints import Endpoints
from infra.errors import InfraError
from infra.layout import ROOT, Layout


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server((ports.HOST, 0)) as server:
        yield server.getsockname()[1]


def test_a_free_port_is_kept() -> None:
    with socket.create_server((ports.HOST, 0)) as server:
        port = server.getsockname()[1]
    assert ports.pick(port) == port


def test_a_port_in_use_gives_another_one(taken: int) -> None:
    assert not ports.is_free(taken)
    assert ports.answers(taken)
    chosen = ports.pick(taken)
    assert taken < chosen < taken + ports.TRIES
    assert ports.is_free(chosen)


def test_a_port_taken_on_all_addresses_is_taken_on_ours() -> None:
    with socket.create_server(("0.0.0.0", 0)) as server:  # noqa: S104 - that is the case
        assert not ports.is_free(server.getsockname()[1])


def test_a_promised_port_is_avoided(taken: int) -> None:
    first = ports.pick(taken)
    assert ports.pick(taken, avoid={first}) > first


def test_two_stacks_that_start_at_once_pick_two_ports(taken: int) -> None:
    first = ports.pick(taken)
    line = f"from infra import ports; print(ports.pick({first}))"
    other = subprocess.run([sys.executable, "-c", line], check=True, capture_output=True, text=True)
    assert int(other.stdout) > first
    assert ports.pick(first) == first


def test_no_port_of_the_systems_choice_is_given_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_given", set())
    kind = socket.socket

    class Stubborn(kind):  # type: ignore[misc, valid-type]
        """Its system picks each port twice."""

        picked: ClassVar[list[int]] = []

        def getsockname(self) -> tuple[str, int]:
            self.picked.append(super().getsockname()[1])
            return ports.HOST, self.picked[(len(self.picked) - 1) // 2 * 2]

    monkeypatch.setattr(ports.socket, "socket", Stubborn)
    assert ports.free_port() != ports.free_port()


def test_connections_that_are_closing_do_not_count() -> None:
    server = socket.create_server((ports.HOST, 0))
    port = server.getsockname()[1]
    client = socket.create_connection((ports.HOST, port))
    accepted, _ = server.accept()
    accepted.close()  # the server's side closes first: its port goes to TIME_WAIT
    client.close()
    server.close()
    assert ports.is_free(port)


def test_no_free_port_is_an_error_with_the_range(
    monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    monkeypatch.setattr(ports, "TRIES", 1)
    with pytest.raises(InfraError, match=f"from {taken} to {taken}; stop what listens there"):
        ports.pick(taken)


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files in which anybody may have written before."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(ports, "_promised", {})
    return tmp_path


def test_promises_are_kept_where_nobody_else_can_write(shared: Path) -> None:
    port = ports.pick(20_000)
    (folder,) = shared.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [one.name for one in folder.iterdir()] == [f"port-{port}.lock"]


@pytest.mark.parametrize("planted", ["a link", "a folder for all", "a file"])
def test_what_somebody_else_has_put_there_is_not_used(shared: Path, planted: str) -> None:
    """Locks were made by a name that anybody could guess, wherever a link led."""
    target, place = shared / "target", shared / f"slackwater-{os.getuid()}"
    target.mkdir()
    if planted == "a link":
        place.symlink_to(target)
    elif planted == "a file":
        place.touch()
    else:
        place.mkdir()
        place.chmod(0o777)
    with pytest.raises(InfraError, match=r"not a folder that is yours alone.*TMPDIR"):
        ports.pick(20_000)
    assert not list(shared.rglob("*.lock"))


def test_a_link_in_place_of_a_lock_is_not_followed(shared: Path) -> None:
    for name in (
        f"slackwater-{os.getuid()}/port-{{}}.lock",
        f"slackwater-{os.getuid()}-port-{{}}.lock",
    ):
        for port in range(20_000, 20_000 + ports.TRIES):
            link = shared / name.format(port)
            link.parent.mkdir(mode=0o700, exist_ok=True)
            link.symlink_to(shared / "elsewhere")
    with pytest.raises(InfraError, match="cannot be used as a lock"):
        ports.pick(20_000)
    assert not (shared / "elsewhere").exists()


@pytest.fixture
def endpoints(tmp_path: Path) -> Endpoints:
    inner = ("kafka:9092", "", "", "http://spark-master:8080", "http://airflow-api-server:8080")
    return Endpoints(*inner, "admin", "s3cret", tmp_path, "")


def described(endpoints: Endpoints) -> list[str]:
    return [
        outside.kafka(endpoints),
        outside.spark_ui(endpoints),
        outside.airflow_url(endpoints),
        outside.login(endpoints),
        outside.path(endpoints.state_dir / "tables"),
    ]


def test_the_local_stack_is_described_as_it_is(endpoints: Endpoints, tmp_path: Path) -> None:
    place = airflow.passwords_file(Layout(tmp_path))
    assert described(endpoints) == [
        endpoints.kafka_bootstrap,
        endpoints.spark_ui,
        endpoints.airflow_url,
        f"admin, password: see {place}",
        str(tmp_path / "tables"),
    ]


def test_of_a_stack_elsewhere_the_password_is_where_the_environment_says(
    endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACKWATER_KAFKA", "kafka:9092")
    asked = "admin, password: see $SLACKWATER_AIRFLOW_PASSWORD_FILE"
    assert outside.login(endpoints) == asked
    monkeypatch.setenv("SLACKWATER_AIRFLOW_PASSWORD_FILE", "/etc/airflow/password")
    assert outside.login(endpoints) == "admin, password: see /etc/airflow/password"


def test_the_composed_stack_is_described_by_what_its_host_calls_it(
    endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the very file, with `${PORT:-DEFAULT}` and `$$` as Compose reads them."""
    composed = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    for service in ("demo", "airflow-scheduler"):  # where commands are run
        environment = composed["services"][service]["environment"]
        given = {name: text for name, text in environment.items() if "OUTSIDE" in name}
        assert len(given) == 5
    monkeypatch.setenv("SLACKWATER_KAFKA", "kafka:9092")
    for name, text in given.items():
        port = text[text.index(":-") + 2 : -1] if "${" in text else ""
        monkeypatch.setenv(name, f"{text.partition('${')[0]}{port}".replace("$$", "$"))
    master = '"$(docker ps -qf label=com.docker.compose.service=spark-master)"'
    assert described(endpoints) == [
        "127.0.0.1:9094",
        "http://127.0.0.1:8090",
        "http://127.0.0.1:8080",
        "admin, password: see .secrets/airflow_password",
        f"docker cp {master}:{endpoints.state_dir}/tables .",
    ]


def test_what_is_absent_is_not_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (outside.KAFKA, outside.SPARK_UI, outside.AIRFLOW):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    nothing = Endpoints("", "", "", "", "", "admin", "", tmp_path, "")
    assert described(nothing)[:3] == ["", "", ""]
