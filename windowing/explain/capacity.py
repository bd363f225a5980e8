"""How large a cluster a stated load needs: partitions, shards, executors, memory.

From unit costs that were measured on one machine (`unit_costs.json`, written by
`python -m benchmarks.units`), so the figures are a first size, to be measured again on yours. A
pure function: nothing is read but the costs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, exp
from pathlib import Path
from typing import Final, Literal

from windowing.model.lengths import spell_us
from windowing.model.windows.traits import Ends
from windowing.model.windows.window import Window

Kind = Literal["tumbling", "sliding", "session"]

UNIT_COSTS: Final = Path(__file__).with_name("unit_costs.json")

# What is assumed and not measured; each is said beside the figures.
_PARTITION_BYTES_PER_S = 10_000_000
_SHARD_STATE_BYTES = 1_000_000_000
_COPIES_IN_FLIGHT = 4
_COPIES_OF_STATE = 3
_S_US = 1_000_000


class CapacityError(ValueError):
    """A load for which nothing was measured, or that no cluster carries."""

    exit_code = 1


@dataclass(frozen=True)
class UnitCosts:
    """What was measured, on a stated machine.

    Attributes:
        core_us: core-microseconds per record, all processes together, by kind of window.
        lane_us: of these, what one partition's task needs: pack and lane, on one core.
        query_us: what another query over the same records adds: lane and shard.
        batch_s: the fixed price of a batch, in seconds.
        partial_bytes: state per key, partition and slice.
        jvm_bytes: of an executor without workers, with the heap that was measured.
        worker_bytes: of one Python worker, without its rows.
    """

    machine: str
    core_us: Mapping[Kind, float]
    lane_us: Mapping[Kind, float]
    query_us: Mapping[Kind, float]
    batch_s: float
    partial_bytes: float
    jvm_bytes: float
    worker_bytes: float

    @classmethod
    def load(cls, path: Path = UNIT_COSTS) -> UnitCosts:
        """Read the costs from a file."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Load:
    """What a pipeline is to carry.

    Attributes:
        rate: records per second, at the peak.
        windows: of the queries over the records; at least one.
        record_bytes: the mean size of a record's value.
        held_us: how long records are kept beyond their windows: slack and retention.
        batch_s: how often a batch begins, in seconds.
        busy: the share of the cores that the peak may use; the rest is head-room.
        executor_cores: of each executor.
    """

    rate: float
    keys: int
    windows: tuple[Window, ...]
    record_bytes: float = 200
    held_us: int = 0
    batch_s: float = 10
    busy: float = 0.6
    executor_cores: int = 4


@dataclass(frozen=True)
class Capacity:
    """What the load needs.

    Attributes:
        partitions: of the topic.
        shards: the pipeline's `shards`.
        cores: of all executors.
        executor_bytes: the memory of each.
        state_bytes: of all shards.
        checkpoint_bytes: on the checkpoint's file system, and the executors' disks together.
        rows_per_s: results, about.
        batch_rows: records of one batch.
        batch_took_s: how long such a batch takes.
        assumptions: sentences.
    """

    partitions: int
    shards: int
    cores: int
    executors: int
    executor_bytes: float
    state_bytes: float
    checkpoint_bytes: float
    rows_per_s: float
    batch_rows: float
    batch_took_s: float
    assumptions: tuple[str, ...]


def capacity_of(load: Load, costs: UnitCosts) -> Capacity:
    """Compute what a load needs.

    Raises:
        CapacityError: a batch's fixed price leaves no time for its records, or a value is not
            positive.
    """
    _check(load, costs)
    kinds = [kind_of(window) for window in load.windows]
    dearest = max(kinds, key=lambda kind: costs.core_us[kind])
    others = list(kinds)
    others.remove(dearest)
    core_us = costs.core_us[dearest] + sum(costs.query_us[kind] for kind in others)
    lane_us = costs.lane_us[dearest] + sum(costs.query_us[kind] for kind in others)
    # While a batch is planned and committed, no record is processed.
    usable = load.busy * (1 - costs.batch_s / load.batch_s)
    cores = ceil(load.rate * core_us / _S_US / usable)
    executors = ceil(cores / load.executor_cores)
    cores = executors * load.executor_cores
    partitions = max(
        cores,
        ceil(load.rate * lane_us / _S_US / usable),
        ceil(load.rate * load.record_bytes / _PARTITION_BYTES_PER_S),
    )
    state = sum(partials(window, load, partitions) for window in load.windows) * costs.partial_bytes
    batch_rows = load.rate * load.batch_s
    in_flight = batch_rows / partitions * load.record_bytes * _COPIES_IN_FLIGHT
    workers = load.executor_cores * (costs.worker_bytes + in_flight)
    return Capacity(
        partitions=partitions,
        shards=max(cores, ceil(state / _SHARD_STATE_BYTES)),
        cores=cores,
        executors=executors,
        executor_bytes=costs.jvm_bytes + workers + _shard_bytes(state, cores) * load.executor_cores,
        state_bytes=state,
        checkpoint_bytes=_COPIES_OF_STATE * state,
        rows_per_s=sum(_rows_per_s(window, load) for window in load.windows),
        batch_rows=batch_rows,
        batch_took_s=costs.batch_s + batch_rows * core_us / _S_US / cores,
        assumptions=_assumptions(load, costs),
    )


def kind_of(window: Window) -> Kind:
    """Return which measured kind a window is of.

    Raises:
        CapacityError: of none.
    """
    if window.traits.merging and window.range_ is not None:
        return "session"
    slides = window.traits.ends in (Ends.SLIDES, Ends.CALENDAR) or window.traits.periodic
    if slides and window.range_ is not None:
        # Slices of windows that cumulate are those of windows that slide.
        return "tumbling" if window.range_ == window.slide else "sliding"
    msg = (
        f"a {window.kind} window was not measured; sliding, tumbling and session windows were: run "
        "the pipeline over a part of the load, and read `processedRowsPerSecond` of its progress"
    )
    raise CapacityError(msg)


def partials(window: Window, load: Load, partitions: int) -> float:
    """Return how many partial states a query holds, at most.

    A slice is as long as the slide, and its records spread over keys and partitions: of c cells, n
    records touch c(1 - e^(-n/c)) if all are equally likely, and fewer if they are not.
    """
    if kind_of(window) == "session":
        # A session is held until its gap has passed; records as far apart as the gap share one.
        slice_us, slices = _range(window) + load.held_us, 1.0
    elif window.traits.periodic:
        # Of a period, what has closed for good is one sum.
        cells, behind_us = load.keys * partitions, load.held_us + load.batch_s * _S_US
        slices = behind_us / window.slide * _touched(cells, load.rate * window.slide / _S_US)
        return slices + _touched(cells, load.rate * _range(window) / _S_US)
    else:
        kept_us = _range(window) + load.held_us + load.batch_s * _S_US
        slice_us, slices = window.slide, kept_us / window.slide
    cells = load.keys * partitions
    return slices * _touched(cells, load.rate * slice_us / _S_US)


def _check(load: Load, costs: UnitCosts) -> None:
    for name in ("rate", "keys", "record_bytes", "batch_s", "busy", "executor_cores"):
        if (value := getattr(load, name)) <= 0:
            msg = f"{name} is {value}: it must be positive"
            raise CapacityError(msg)
    if load.busy > 1:
        msg = f"busy is {load.busy:.0%}: at most 100% of a core can be used, and 60% leaves room"
        raise CapacityError(msg)
    if load.batch_s < 2 * costs.batch_s:
        msg = (
            f"a batch every {load.batch_s:g} s: planning and committing one takes "
            f"{costs.batch_s:.2g} s, so choose {2 * costs.batch_s:.2g} s or more"
        )
        raise CapacityError(msg)


def _touched(cells: float, records: float) -> float:
    return cells * (1 - exp(-records / cells))


def _shard_bytes(state: float, cores: int) -> float:
    """Return the state that a task has in memory at once: that of its shard, at most."""
    return min(state / cores, _SHARD_STATE_BYTES)


def _rows_per_s(window: Window, load: Load) -> float:
    if kind_of(window) == "session":
        return _touched(load.keys, load.rate * _range(window) / _S_US) / (_range(window) / _S_US)
    of_window = _touched(load.keys, load.rate * _range(window) / _S_US)
    return of_window / (window.slide / _S_US)


def _assumptions(load: Load, costs: UnitCosts) -> tuple[str, ...]:
    return (
        f"a core does what one of {costs.machine} did",
        f"the peak uses {load.busy:.0%} of the cores: after an outage of an hour it takes "
        f"{60 * load.busy / (1 - load.busy):.0f} min to catch up"
        if load.busy < 1
        else "the peak uses all cores: after an outage the backlog stays",
        f"a batch begins every {load.batch_s:g} s and costs {costs.batch_s:.2g} s besides its "
        "records",
        "a window that slides costs the same whatever its range, since slices are shared; its "
        "state does not",
        "every key occurs in every partition, all equally often: the most state; a topic "
        "partitioned by key needs less",
        f"records are held {spell_us(load.held_us)} beyond their windows, and come with a slack "
        "in time",
        f"a record has {load.record_bytes:g} bytes, and a partition takes "
        f"{_PARTITION_BYTES_PER_S / 1e6:g} MB/s",
        f"a batch's records are {_COPIES_IN_FLIGHT} times in memory, the state {_COPIES_OF_STATE} "
        f"times on disk; a shard has {_SHARD_STATE_BYTES / 1e9:g} GB at most",
        "aggregates of a few numbers, as count, sum and max; growing ones need what they collect",
    )


def _range(window: Window) -> int:
    assert window.range_ is not None  # noqa: S101 - as `kind_of` has checked
    return window.range_
