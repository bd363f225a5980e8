"""Which jobs have the cores and memory of the Spark cluster, and which wait for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra import spark
from infra.errors import NotReady


@dataclass(frozen=True)
class Share:
    """What one application, or one driver, has or needs of the cluster.

    Attributes:
        name: an application's name; a driver's submission id.
        app_id: an application's id; empty for a driver.
        cores: how many it has.
        waits: it has none, since no worker has room for it.
    """

    name: str
    app_id: str
    cores: int
    waits: bool


@dataclass(frozen=True)
class Room:
    """The cluster's room.

    Attributes:
        applications: running and waiting ones.
        drivers: running and waiting ones.
        free: per live worker, its free cores and memory in MiB.
        cores: of the largest live worker, free or not.
        ended: ids of applications that have ended, by name, the last one of each.
    """

    applications: tuple[Share, ...]
    drivers: tuple[Share, ...]
    free: tuple[tuple[int, int], ...]
    cores: int
    ended: Mapping[str, str]

    def application(self, name: str) -> Share | None:
        """Return the live application with a name; None: there is none."""
        return next((one for one in self.applications if one.name == name), None)


def look(page: str) -> Room:
    """Ask the master.

    Raises:
        NotReady: it does not answer.
    """
    return room(spark.page(page))


def room(answer: Mapping[str, Any]) -> Room:
    """Parse the master's page as JSON."""
    try:
        alive = [worker for worker in answer["workers"] if worker["state"] == "ALIVE"]
        return Room(
            applications=tuple(map(_application, answer["activeapps"])),
            drivers=tuple(map(_driver, answer["activedrivers"])),
            free=tuple((worker["coresfree"], worker["memoryfree"]) for worker in alive),
            cores=max((worker["cores"] for worker in alive), default=0),
            ended={one["name"]: one["id"] for one in answer["completedapps"]},
        )
    except KeyError as error:
        text = f"the master's page lacks {error}: it is not that of Spark 4.2"
        raise NotReady(text) from error


def _application(one: Mapping[str, Any]) -> Share:
    waits = one["state"] == "WAITING"
    return Share(one["name"], one["id"], int(one["cores"]), waits)


def _driver(one: Mapping[str, Any]) -> Share:
    waits = one["state"] == "SUBMITTED"
    return Share(one["id"], "", 0 if waits else int(one["cores"]), waits)
