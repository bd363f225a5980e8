"""The parts of an engine under test; a planted bug replaces one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from chaos.simulator.draw.wish import Wish
from chaos.simulator.platform.cluster import SimulatedCluster
from chaos.simulator.platform.job import SimulatedJob
from chaos.simulator.platform.sink import SimulatedSink
from chaos.simulator.platform.state import StateFiles
from windowing.engine.fused.settler import Redelivered, Settler
from windowing.engine.lane import Lane
from windowing.engine.plan import Plan
from windowing.engine.shard import Shard

if TYPE_CHECKING:
    from windowing.model.file.pipeline import Pipeline


OWN = "slackwater"
"""The name of the engine without a bug."""


def lanes(plan: Plan) -> Callable[[int], Lane]:
    """Return a factory for lanes: each is made anew on every worker and restart."""
    return partial(Lane, plan)


def anywhere(_: Pipeline) -> bool:
    """Accept any pipeline."""
    return True


@dataclass(frozen=True)
class EngineParts:
    """The parts of an engine; by default the real lane and shard on a sound platform.

    Attributes:
        name: the engine's name.
        lanes: called once per run; returns a factory for the lanes of partitions.
        shard: makes a shard.
        settler: makes what settles the chunks of the fused plan.
        state, sink, cluster, job: the platform.
        wish: constraints on drawn cases, such as the window class that a bug needs.
        strict: whether redeliveries may be drawn as errors, even for an engine with a bug.
        fused: whether to run the fused plan wherever it applies, even for an engine with a bug.
        shared: whether queries share slices wherever they can, even for an engine with a bug.
        changes: whether logs change the queries wherever they can, even for an engine with a bug.
        hostile: whether somebody hostile writes to the log, too, even for an engine with a bug.
        joins: whether a lane joins between two batches wherever one can, even for an engine with a
            bug.
        disk: whether rows go to tables on a disk, even for an engine with a bug.
        tuning: thresholds that a planted bug needs; all others are drawn.
        shows_in: the pipelines in which a planted bug can show.
    """

    name: str = OWN
    lanes: Callable[[Plan], Callable[[int], Lane]] = lanes
    shard: Callable[[Plan], Shard] = Shard
    settler: Callable[[Plan, Redelivered], Settler] = Settler
    state: Callable[[], StateFiles] = StateFiles
    sink: Callable[[], SimulatedSink] = SimulatedSink
    cluster: type[SimulatedCluster] = SimulatedCluster
    job: Callable[..., SimulatedJob] = SimulatedJob
    wish: Wish = field(default_factory=Wish)
    strict: bool = False
    fused: bool = False
    shared: bool = False
    changes: bool = False
    hostile: bool = False
    joins: bool = False
    disk: bool = False
    tuning: Mapping[str, int] = field(default_factory=dict)
    shows_in: Callable[[Pipeline], bool] = anywhere
