"""Who may see and do what: the rights of the DAG, as Airflow's auth manager grants them.

Not for an event loop: an auth manager, and the team of a DAG, may be a matter of a database.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.base_auth_manager import ResourceMethod
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import requires_access_dag
from airflow.models.dag import DagModel
from fastapi import Depends

MAY_READ: Final = Depends(requires_access_dag("GET"))
"""Required of all that shows something of the pipeline `dag_id` of the address."""


def may(
    user: BaseUser, dag_id: str, method: ResourceMethod, entity: DagAccessEntity | None = None
) -> bool:
    """Whether a user may do something with a DAG, or with that part of it."""
    details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))
    return get_auth_manager().is_authorized_dag(
        method=method, access_entity=entity, details=details, user=user
    )


def may_trigger(user: BaseUser, dag_id: str) -> bool:
    """Whether a user may start a run of a DAG."""
    return may(user, dag_id, "POST", DagAccessEntity.RUN)


def readable(user: BaseUser, dag_ids: Sequence[str]) -> list[str]:
    """Return those of some DAGs that a user may read."""
    return [dag_id for dag_id in dag_ids if may(user, dag_id, "GET")]
