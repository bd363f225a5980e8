"""Scenes of attacks on the stack of this folder's tests."""

from __future__ import annotations

import random
from pathlib import Path

from chaos.control.containers import ContainerReach
from chaos.faults.fault import Scene
from infra.containers.stack import ContainerStack
from windowing.model import load_pipeline

PIPELINE = Path(__file__).parents[2] / "pipelines" / "flight_delays.yml"


def scene_on(cluster: ContainerStack) -> Scene:
    """A scene without a job: for attacks on the stack alone."""

    def no_job() -> None:
        msg = "this scene has no job"
        raise AssertionError(msg)

    return Scene(
        endpoints=cluster.endpoints,
        pipeline=load_pipeline(PIPELINE),
        topic="none",
        checkpoint=cluster.layout.state_dir / "none",
        reach=ContainerReach(cluster),
        rng=random.Random(1),
        stop_job=no_job,
        submit_job=no_job,
        restart=cluster.restart,
    )
