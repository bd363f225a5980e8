"""A driver that has lost all executors, and one that merely waits for its first."""

from __future__ import annotations

import pytest

from jobs.driver.orphan import LOST_S, ExecutorsLost, Orphan


class Cluster:
    """So many executors at a time of day."""

    def __init__(self) -> None:
        self.executors, self.now_s = 0, 1000.0

    def after(self, seconds: float, executors: int) -> None:
        self.now_s += seconds
        self.executors = executors


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def orphan(cluster: Cluster) -> Orphan:
    return Orphan(lambda: cluster.executors, lambda: cluster.now_s)


def test_a_driver_that_never_had_an_executor_waits_for_ever(
    cluster: Cluster, orphan: Orphan
) -> None:
    for _ in range(3):
        cluster.after(10 * LOST_S, 0)
        orphan.look()


def test_executors_that_are_replaced_in_time_are_not_missed(
    cluster: Cluster, orphan: Orphan
) -> None:
    for number in (2, 0, 1, 0, 2):
        cluster.after(LOST_S, number)
        orphan.look()


def test_a_driver_without_executors_for_too_long_ends(cluster: Cluster, orphan: Orphan) -> None:
    cluster.after(1, 2)
    orphan.look()
    cluster.after(LOST_S, 0)
    orphan.look()
    cluster.after(1, 0)
    with pytest.raises(ExecutorsLost, match="no executor for 60 s: the master has forgotten"):
        orphan.look()
