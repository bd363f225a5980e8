"""Jobs that a start of the stack would end: those on hosts whose settings have changed.

A worker's size is fixed when it starts, so another one means another worker, and the drivers and
executors on the old one end with it. Nobody expects that of `up`: it asks first.
"""

from collections.abc import Callable, Sequence

from infra import drivers, spark_room
from infra.endpoints import Endpoints
from infra.errors import InfraError

MayEnd = Callable[[Endpoints, Sequence[str] | None], None]
"""Gets the addresses of the cluster and the names of the jobs that would end; None: the cluster
does not say which ones there are. Raises InfraError if nothing is to be started."""


def refuse(endpoints: Endpoints, jobs: Sequence[str] | None) -> None:
    """Start nothing.

    Raises:
        InfraError: always; names the jobs, and the way to have them stopped and resumed.
    """
    text = (
        f"the workers' settings have changed, and to start them again would end {_said(jobs)}: "
        "nothing was started; `slackwater up --yes` stops runs of pipelines first, and resumes "
        "them"
    )
    raise InfraError(text)


def _said(jobs: Sequence[str] | None) -> str:
    if jobs is None:
        return "jobs, of which the cluster does not answer"
    return ", ".join(jobs)


def living_jobs(endpoints: Endpoints) -> list[str] | None:
    """Return the names of the jobs of a cluster, runs of pipelines and other programs.

    None: the cluster does not answer.
    """
    try:
        names = {
            one.name or one.submission_id
            for one in drivers.cluster(endpoints).list_drivers(endpoints)
            if one.state in drivers.ALIVE
        }
        if not endpoints.yarn_ui:
            names |= {one.name for one in spark_room.look(endpoints.spark_ui).applications}
    except InfraError:
        return None
    return sorted(names)


def check(endpoints: Endpoints, may_end: MayEnd) -> None:
    """Ask whether the jobs of a cluster may end, if it has any.

    Raises:
        InfraError: they may not.
    """
    jobs = living_jobs(endpoints)
    if jobs is None or jobs:
        may_end(endpoints, jobs)
