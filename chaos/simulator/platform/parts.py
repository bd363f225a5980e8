"""What an engine under test is made of; a guilty one replaces one part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from chaos.simulator.draw.wish import Wish
from chaos.simulator.platform.cluster import Cluster
from chaos.simulator.platform.job import Job
from chaos.simulator.platform.sink import Sink
from chaos.simulator.platform.state import StateFiles
from windowing.engine.lane import Lane
from windowing.engine.plan import Plan
from windowing.engine.shard import Shard

if TYPE_CHECKING:
    from windowing.model.file.pipeline import Pipeline


OWN = "slackwater"
"""The name of the engine as it is."""


def lanes(plan: Plan) -> Callable[[int], Lane]:
    """Return a factory for lanes: each is made anew on every worker and restart."""
    return partial(Lane, plan)


def anywhere(_: Pipeline) -> bool:
    """Any pipeline will do."""
    return True


@dataclass(frozen=True)
class Parts:
    """The parts of an engine; by default they are the real lane and shard on a sound platform.

    Attributes:
        name: of the engine.
        lanes: called once a run; gives what makes the lane of a partition.
        shard: makes a shard.
        state, sink, cluster, job: the platform.
        wish: what its cases shall have, such as the class of windows that a defect lives in.
        strict: redeliveries may be drawn as errors, also for an engine that is not ours.
        lair: of the pipelines that may be drawn, those in which a planted defect can show.
    """

    name: str = OWN
    lanes: Callable[[Plan], Callable[[int], Lane]] = lanes
    shard: Callable[[Plan], Shard] = Shard
    state: Callable[[], StateFiles] = StateFiles
    sink: Callable[[], Sink] = Sink
    cluster: type[Cluster] = Cluster
    job: Callable[..., Job] = Job
    wish: Wish = field(default_factory=Wish)
    strict: bool = False
    lair: Callable[[Pipeline], bool] = anywhere
