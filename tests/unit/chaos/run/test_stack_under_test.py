"""Impossible stacks are rejected before anything starts."""

from pathlib import Path

import pytest

from chaos.run.stack_under_test import StackKind, stack_under_test
from infra.endpoints import Endpoints
from infra.errors import InfraError
from infra.layout import Layout


@pytest.mark.parametrize(
    ("kind", "proxied", "rule"),
    [
        ("local", False, "brokers: 3 requires containers"),
        ("containers", True, "a proxy needs a single broker, and there are 3"),
    ],
)
def test_three_brokers_take_containers_and_no_proxy(
    tmp_path: Path, kind: StackKind, proxied: bool, rule: str
) -> None:
    told: list[str] = []
    wanted = {"components": ["kafka"], "proxied": proxied, "brokers": 3}
    with (
        pytest.raises(InfraError, match=rule),
        stack_under_test(kind, Layout(tmp_path), told.append, **wanted),  # type: ignore[arg-type]
    ):
        pass
    assert not told
    assert not list(tmp_path.iterdir())


def test_brokers_are_found_by_name(tmp_path: Path) -> None:
    bootstrap = "127.0.0.1:9094,127.0.0.1:9194,127.0.0.1:9294"
    endpoints = Endpoints(bootstrap, "", "", "", "", "", "", tmp_path, "")
    assert endpoints.brokers == {"kafka": 9094, "kafka-2": 9194, "kafka-3": 9294}
