"""Who may do what in a real PostgreSQL of ours: each role owns its data base, and no more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from infra.containers import boxes
from infra.containers.session import Session
from infra.ports import free_port
from tests.stack.containers.conftest import PATIENCE_S

Connect = Callable[..., "psycopg.Connection[tuple[object, ...]]"]

ROLES = {"first": 'it\'s: \\ a "word"', "second": "another"}
"""With passwords that a shell, SQL or psql would take for something else."""


@pytest.fixture(scope="module")
def connect(box_session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connect]:
    """A data base and its owner for each secret, as in the composed stack."""
    secrets = tmp_path_factory.mktemp("secrets")
    for role, password in ROLES.items():
        (secrets / f"postgres_{role}").write_text(f"{password}\n", encoding="utf-8")
    readable_by_all(secrets)
    port = free_port()

    def to(role: str, database: str, password: str = "") -> psycopg.Connection[tuple[object, ...]]:
        given = password or ROLES.get(role, "x")
        return psycopg.connect(
            host="127.0.0.1", port=port, user=role, dbname=database, password=given
        )

    box_session.run(replace(boxes.postgres(port=port, secrets=secrets), name="owners"))
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            to("first", "first").close()
            break
        except psycopg.OperationalError:
            assert time.monotonic() < until_s
            time.sleep(0.2)
    yield to
    box_session.remove("owners")


def readable_by_all(folder: Path) -> None:
    """The container's user is another; what is mounted itself counts, not the folders above."""
    folder.chmod(0o755)
    for file in folder.iterdir():
        file.chmod(0o644)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_owns_its_data_base(connect: Connect, role: str) -> None:
    with connect(role, role) as own:
        own.execute("create schema out")
        own.execute("create table out.q (a int)")
        own.execute("insert into out.q values (1)")


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("database", [*ROLES, "postgres", "template1"])
def test_it_may_enter_no_other(connect: Connect, role: str, database: str) -> None:
    if database == role:
        connect(role, database).close()
        return
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        connect(role, database)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    "statement",
    [
        "create role other",
        "create database other",
        "alter role current_user superuser",
        "select rolpassword from pg_authid",
        "copy pg_database to program 'true'",
        "select pg_read_file('postgresql.conf')",
    ],
)
def test_it_has_no_other_rights(connect: Connect, role: str, statement: str) -> None:
    with connect(role, role) as own:
        own.autocommit = True
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            own.execute(statement)  # type: ignore[call-overload]


@pytest.mark.parametrize(("user", "password"), [("postgres", "x"), ("first", "wrong")])
def test_nobody_else_gets_in(connect: Connect, user: str, password: str) -> None:
    with pytest.raises(psycopg.OperationalError, match=r"rejects|authentication failed"):
        connect(user, "first", password)
