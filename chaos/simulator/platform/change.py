"""A run's own copy of its pipeline file, which the log may change, and its state, converted for it.

As in a real run (`jobs.checkpoints.conversion`), the converted states are made aside, whole, then
take the place of the old ones, and the file comes last; the next driver finishes what a driver that
died has left. A backup of a checkpoint has the file of its time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from chaos.simulator.platform.state import StateFiles, Task, Values
from chaos.simulator.platform.tasks import stored
from windowing.engine.convert import convert
from windowing.engine.storage.state import MemoryStore
from windowing.model.file.pipeline import Pipeline

Seeded = Callable[[Pipeline, Mapping[Task, MemoryStore]], dict[Task, Values]]


@dataclass(frozen=True)
class _PreparedStates:
    """States for a changed pipeline, which take the place of those of a version."""

    version: int
    pipeline: Pipeline
    states: dict[Task, Values] = field(default_factory=dict)


class RunFile:
    """A run's own copy of its pipeline file.

    Args:
        seeded: returns the state with which a pipeline's tasks begin, given what is in it.
    """

    def __init__(self, pipeline: Pipeline, files: StateFiles, seeded: Seeded) -> None:
        self._files, self._seeded = files, seeded
        self._since = {0: pipeline}
        self._ready: _PreparedStates | None = None

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline, with all changes so far."""
        return self._since[self.version]

    @property
    def version(self) -> int:
        """The version of the state with which the file begins: it continues from no older one."""
        return max(self._since)

    def change(self, after: Pipeline, version: int, tasks: Sequence[Task]) -> Iterator[str]:
        """Change the pipeline and the state, step by step; yield what was done.

        Args:
            version: of the state before the batch that has the change.
        """
        # Before the first batch there is no state to convert.
        states = self._converted(after, version, tasks) if version else {}
        yield "converted"
        self._ready = _PreparedStates(version, after, states)
        yield "ready"
        yield from self.resume()

    def resume(self) -> Iterator[str]:
        """Finish a change that is ready, whatever was done of it; yield what was done."""
        if self._ready is None:
            return
        version = self._ready.version
        for task, values in self._ready.states.items():
            self._files.replace(task, version, values)
            yield "state replaced"
        self._since[version] = self._ready.pipeline
        self._ready = None
        yield "file replaced"

    def join(self, after: Pipeline, version: int) -> None:
        """Let lanes join: the state stays as it is, and the next batch adds them to it."""
        for number in range(self.pipeline.source.partitions, after.source.partitions):
            self._files.begin_empty(("lane", number), version)
        self._since[version] = after

    def restore(self, version: int) -> None:
        """Go back to the file that belongs to a version of the state."""
        self._since = {since: own for since, own in self._since.items() if since <= version}

    def _converted(
        self, after: Pipeline, version: int, tasks: Sequence[Task]
    ) -> dict[Task, Values]:
        stores: dict[str, list[MemoryStore]] = {"lane": [], "shard": []}
        for task in tasks:
            stores[task[0]].append(stored(self._files.load(task, version)))
        found = convert(self.pipeline, after, stores["lane"], stores["shard"])
        new = {"lane": found.lanes, "shard": found.shards}
        named = {(kind, at): own for kind, all_ in new.items() for at, own in enumerate(all_)}
        return self._seeded(after, named)
