"""Airflow's database in a file: four services write to it, one at a time."""

import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

SQLITE_GIVES_UP_S = 5
"""After this long, SQLite gives those that wait for its lock an error."""


def hold(database: Path, held: threading.Event) -> None:
    """Keeps the lock for longer than SQLite would have others wait."""
    with closing(sqlite3.connect(database, timeout=60, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        held.set()
        time.sleep(SQLITE_GIVES_UP_S + 2)
        connection.execute("ROLLBACK")


@pytest.mark.stack
def test_a_service_waits_for_one_that_writes_long(stage):
    held = threading.Event()
    writer = threading.Thread(target=hold, args=(stage.database, held))
    writer.start()
    assert held.wait(60)
    asked = time.monotonic()
    stage.airflow.post("variables", key="patience", value="enough")
    assert time.monotonic() - asked > SQLITE_GIVES_UP_S
    writer.join()
    assert stage.airflow.get("variables/patience")["value"] == "enough"
