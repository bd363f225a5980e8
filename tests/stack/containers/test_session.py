"""What a session leaves behind is swept by the next one; what belongs to the living is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import docker
import pytest

from infra.containers.boxes import image
from infra.containers.session import OWNER, Box, Session, sweep
from infra.layout import ROOT

pytestmark = pytest.mark.usefixtures("docker_engine")

OWNER_OF_NOTHING = {"POSTGRES_USER": "a", "POSTGRES_PASSWORD": "a"}
SLEEPER = Box("sleeper", image("postgres"), environment=OWNER_OF_NOTHING)
ABANDON = f"""
import sys, time
from infra.containers.session import Box, Session
session = Session().__enter__()
print(session.run({SLEEPER!r}).id, session.network.name, flush=True)
time.sleep(600)
"""


def known(owner: str) -> set[str]:
    """Ids of containers and names of networks with our label that mention an owner's pid."""
    client = docker.from_env()
    try:
        boxes = client.containers.list(all=True, filters={"label": OWNER})
        found = {one.id for one in boxes if owner in one.labels[OWNER].split()}
        networks = client.networks.list(filters={"label": OWNER})
        return found | {n.name for n in networks if owner in n.attrs["Labels"][OWNER].split()}
    finally:
        client.close()


def test_a_killed_session_is_swept_and_a_living_one_is_not() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ABANDON], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as dying:
        assert dying.stdout is not None
        container, network = dying.stdout.readline().split()
        with Session() as living:
            kept = living.run(SLEEPER).id
            assert known(str(dying.pid)) == {container, network}
            os.kill(dying.pid, signal.SIGKILL)
            dying.wait()
            assert sweep() == 2
            assert known(str(dying.pid)) == set()
            assert kept in known(str(os.getpid()))
    assert kept not in known(str(os.getpid()))
