"""What hangs fails, and says where: a test, and a thread that is left after the last test.

Each in its own pytest, with the settings and the conftest of this folder.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(600)  # Airflow is imported anew, whatever limit is asked for

HERE = Path(__file__).parent

WAITS = """
import time

from conftest import load_dags

load_dags()  # what is slow the first time


def test_that_waits():
    load_dags()  # here Airflow arms and disarms SIGALRM
    while True:
        try:
            time.sleep(1)
        except BaseException:  # as Airflow does around a task
            pass
"""

ON_SERVICES = """
import time

import pytest

pytestmark = pytest.mark.stack


def test_that_waits():
    time.sleep(600)


def test_that_comes_next():
    pass
"""

LEAVES = """
import threading

import conftest

conftest.END_S = 1


def kept():
    threading.Event().wait()


def test_that_leaves_a_thread():
    threading.Thread(target=kept).start()
"""


def ended(tmp_path: Path, test: str, *options: str) -> tuple[int, str]:
    """The exit code and the words of a pytest that runs this test and has to end by itself."""
    file = tmp_path / "test_it.py"
    file.write_text(test)
    line = [sys.executable, "-m", "pytest", "-c", HERE / "pytest.ini", "-p", "conftest", *options]
    done = subprocess.run(
        [*line, f"--rootdir={tmp_path}", file],
        env=os.environ | {"PYTHONPATH": str(HERE), "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=480,
        check=False,
    )
    return done.returncode, done.stdout


def test_a_test_that_hangs_fails_though_airflow_disarms_the_alarm(tmp_path):
    code, said = ended(tmp_path, WAITS, "--timeout=5")
    assert code == 1, said
    assert "Timeout" in said
    assert "in test_that_waits" in said


def test_on_services_it_fails_alone_so_that_they_are_stopped(tmp_path):
    code, said = ended(tmp_path, ON_SERVICES, "--timeout=2")
    assert code == 1
    assert "1 failed, 1 passed" in said


def test_a_thread_that_is_left_does_not_keep_the_process(tmp_path):
    code, said = ended(tmp_path, LEAVES)
    assert "1 passed" in said
    assert code == 1
    assert "in kept" in said
