"""Locks of files and folders, between threads and between processes."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from infra.locks import Locked, locked

HOLD = """
import sys
from pathlib import Path
from infra.locks import locked
with locked(Path(sys.argv[1])):
    print(flush=True)
    sys.stdin.read()
"""


@pytest.fixture(params=["folder", "new/file"])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    (tmp_path / "folder").mkdir()
    return tmp_path / str(request.param)


def test_a_lock_is_waited_for(path: Path) -> None:
    waits, has_it = Event(), Event()

    def other() -> None:
        with locked(path, waits=waits.set):
            has_it.set()

    with ThreadPoolExecutor(1) as pool:
        with locked(path, waits=lambda: pytest.fail("nobody has it")):
            done = pool.submit(other)
            assert waits.wait(60.0)
            assert not has_it.is_set()
        done.result(60.0)
    assert has_it.is_set()


def test_a_wait_has_an_end(path: Path) -> None:
    with locked(path):
        with pytest.raises(Locked, match=path.name), locked(path, wait_s=0.0):
            pass
        with pytest.raises(Locked), locked(path, wait_s=0.0):
            pass  # whoever gave up has not let it go
    with locked(path, wait_s=0.0):
        pass


def test_a_lock_ends_with_its_process(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline()
        with pytest.raises(Locked), locked(path, wait_s=0.0):
            pass
        holder.kill()
        holder.wait(60.0)
        with locked(path, wait_s=0.0):
            pass


def test_an_error_lets_a_lock_go(path: Path) -> None:
    with pytest.raises(ValueError, match="odd"), locked(path):
        raise ValueError("odd")
    with locked(path, wait_s=0.0):
        pass
