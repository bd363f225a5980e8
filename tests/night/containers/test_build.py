"""What `infra/images/build` writes into a checkout: its own line and files, nobody else's."""

from __future__ import annotations

import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import docker
import pytest

from infra.layout import ROOT

pytestmark = pytest.mark.usefixtures("docker_engine")

TARGET = "test-of-build"


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Path]:
    """One with the very script, and an image that costs nothing."""
    images = tmp_path / "infra" / "images"
    images.mkdir(parents=True)
    shutil.copy(ROOT / "infra" / "images" / "build", images)
    stage = f"ARG BASE\nFROM ${{BASE}} AS {TARGET}\n"
    (images / "Dockerfile").write_text(stage, encoding="utf-8")
    yield tmp_path
    with closing(docker.from_env()) as client:
        client.images.remove(f"slackwater/{TARGET}:local", force=True)


def build(checkout: Path) -> tuple[list[str], dict[str, str]]:
    """Run it; gives the lines of .env, and the secrets."""
    subprocess.run([checkout / "infra" / "images" / "build", TARGET], check=True)
    folder = checkout / ".secrets"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    secrets = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}
    return (checkout / ".env").read_text(encoding="utf-8").splitlines(), secrets


def test_the_settings_of_people_stay(checkout: Path) -> None:
    own = ["# mine", "KAFKA_PORT=19094", "", "NAME=a b"]
    stale = "SLACKWATER_BASE=swept/away:long-ago"
    (checkout / ".env").write_text("\n".join([*own[:2], stale, *own[2:]]), encoding="utf-8")
    lines, secrets = build(checkout)
    assert lines[:-1] == own
    assert lines[-1].startswith("SLACKWATER_BASE=")
    assert lines[-1] != stale
    assert len(secrets) == 6
    assert all(len(text) >= 16 for text in secrets.values())
    assert build(checkout) == (lines, secrets)


def test_the_first_time_it_makes_the_file(checkout: Path) -> None:
    lines, _ = build(checkout)
    assert [line.partition("=")[0] for line in lines] == ["SLACKWATER_BASE"]
