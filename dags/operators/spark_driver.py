"""The state of a submitted driver, from Spark's master or from YARN."""

from __future__ import annotations

import os
from dataclasses import replace

from airflow.sdk.exceptions import AirflowException

from infra import drivers
from infra.addresses import addresses
from infra.driver import ALIVE, Driver
from infra.endpoints import Endpoints
from infra.errors import InfraError
from infra.layout import default_layout
from infra.record import read

__all__ = ["ALIVE", "FINISHED", "STARTED", "look_at"]

REST_VARIABLE = "SLACKWATER_SPARK_REST"
"""Base URL of the REST server of a cluster other than the local stack's."""

FINISHED = "FINISHED"

STARTED = frozenset({"RUNNING", FINISHED})
"""Whether the driver has its process; it may be running or done."""


def look_at(submission_id: str) -> Driver:
    """Return the driver as the cluster sees it now.

    Raises:
        AirflowException: the cluster does not answer.
    """
    try:
        endpoints = _endpoints()
        return drivers.cluster(endpoints).status(endpoints, submission_id)
    except InfraError as error:
        raise AirflowException(str(error)) from None


def _endpoints() -> Endpoints:
    # Not infra.stack's: that needs a Kafka client, which Airflow's environment lacks.
    layout = default_layout()
    found = addresses(layout, read(layout), ())
    if rest := os.environ.get(REST_VARIABLE):
        return replace(found, spark_rest=rest.rstrip("/"), yarn_ui="")
    if not drivers.can_be_asked(found):
        text = "the local stack has neither Spark's master nor YARN; start it with `slackwater up`"
        raise InfraError(text)
    return found
