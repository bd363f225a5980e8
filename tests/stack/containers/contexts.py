"""Contexts of faults on the stack of this folder's tests."""

from __future__ import annotations

import random
from pathlib import Path

from chaos.control.containers import ContainerNodeControl
from chaos.faults.fault import FaultContext
from infra.containers.stack import ContainerStack
from windowing.model import load_pipeline

PIPELINE = Path(__file__).parents[3] / "pipelines" / "flight_delays.yml"


def context_on(cluster: ContainerStack) -> FaultContext:
    """A context without a job, for faults of the stack alone."""

    def no_job() -> None:
        msg = "this context has no job"
        raise AssertionError(msg)

    return FaultContext(
        endpoints=cluster.endpoints,
        pipeline=load_pipeline(PIPELINE),
        topic="none",
        checkpoint=cluster.layout.state_dir / "none",
        nodes=ContainerNodeControl(cluster),
        rng=random.Random(1),
        stop_job=no_job,
        submit_job=no_job,
        restart=cluster.restart,
    )
