"""All runs at a glance: state, reason, progress, last verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from infra import outside, spark_room, yarn_jobs
from infra.endpoints import Endpoints
from infra.errors import NotReady
from infra.spark_room import Room
from jobs.brokers.broker import BrokerError
from jobs.brokers.topics import TopicError, end_offsets
from jobs.checkpoints.checkpoint import committed_offsets
from jobs.runs.choice import live_run
from jobs.runs.difference import file_differs
from jobs.runs.folder import Run, RunError, every_run
from jobs.runs.job_order import job_name
from jobs.runs.life import Life, State
from jobs.runs.looking import life_of, look_at
from jobs.runs.targets import address_of
from jobs.runs.verdicts import Judge, Verdict, last_verdict
from windowing.model import PipelineError
from windowing.model.source import Source


@dataclass(frozen=True)
class Overview:
    """The facts about a run.

    Attributes:
        live: whether commands take it by default.
        file_differs: how the file that it was submitted with differs now; None: it does not.
        behind: uncommitted offsets up to the topic's end; None: the broker does not answer.
        last_verify: the last verdict of `verify`; None: there is none.
        last_quality: the same for `quality`.
        metrics: the URL of its driver's metrics; None: no driver runs, or it offers none.
        ui: the page of its job, else of the cluster; None: there is no cluster.
        log: the folder of its driver's output, if it is on this machine.
    """

    run: Run
    life: Life
    live: bool
    restarts: int
    file_differs: list[str] | None
    batches: int
    behind: int | None
    last_verify: Verdict | None
    last_quality: Verdict | None
    metrics: str | None
    ui: str | None
    log: str | None

    def as_json(self) -> dict[str, Any]:
        """Format it for scripts; `docs/commands.md` and `jobs/README.md` describe it."""
        run = self.run
        return {
            "pipeline": run.pipeline,
            "run": run.run,
            "state": str(self.life.state),
            "why": self.life.why,
            "live": self.live,
            "restarts": self.restarts,
            "submitted_at": run.submitted_at.isoformat(timespec="seconds"),
            "file": str(run.file),
            "file_differs": self.file_differs,
            "batches": self.batches,
            "behind": self.behind,
            "table": str(run.table),
            "last_verify": self.last_verify and asdict(self.last_verify),
            "last_quality": self.last_quality and asdict(self.last_quality),
            "metrics": self.metrics,
            "ui": self.ui,
            "log": self.log,
        }


def pipelines_with_runs(endpoints: Endpoints) -> list[str]:
    """List the names of all pipelines that have runs."""
    folders = (endpoints.state_dir / "runs").glob("*")
    return sorted(path.name for path in folders if every_run(endpoints, path.name))


def overview(endpoints: Endpoints, pipeline: str, file: Path | None = None) -> Iterator[Overview]:
    """List all runs of a pipeline, the last submitted one first.

    Args:
        endpoints: addresses of the stack; without a broker or a master, their facts are missing.
        file: the current pipeline file; None: the one that each run was submitted with.

    Raises:
        InfraError: the master does not answer.
    """
    about = Surroundings.of(endpoints)
    live = live_run(endpoints, pipeline)
    for run in reversed(every_run(endpoints, pipeline)):
        yield overview_of(about, run, live, file)


def overview_of(
    about: Surroundings, run: Run, live: Run | None, file: Path | None = None
) -> Overview:
    """Return the facts about one run.

    Args:
        about: what is looked up once for several runs.
        live: the live run of its pipeline.
        file: as for `overview`.

    Raises:
        InfraError: the master does not answer.
    """
    endpoints = about.endpoints
    seen = look_at(endpoints, run)
    batches, behind = _how_far(run, about.ends)
    return Overview(
        run=run,
        life=seen.life,
        live=live is not None and live.run == run.run,
        restarts=seen.deaths.number,
        file_differs=file_differs(endpoints, run, file),
        batches=batches,
        behind=behind,
        last_verify=last_verdict(run, Judge.verify),
        last_quality=last_verdict(run, Judge.quality),
        metrics=address_of(run.folder) if seen.life.state is State.running else None,
        ui=page_of(endpoints, run, about.room),
        log=str(seen.log) if seen.log else None,
    )


def page_of(endpoints: Endpoints, run: Run, room: Room | None) -> str | None:
    """Return the page of a run's job at the master; the master's own if it has none."""
    if endpoints.yarn_ui:
        return yarn_jobs.page_of(endpoints, run.submission_id) if run.submission_id else None
    base = outside.spark_ui(endpoints)
    if not base or room is None:
        return base or None
    name = job_name(run.pipeline, run.run)
    living = room.application(name)
    app = living.app_id if living else room.ended.get(name)
    return f"{base}/app/?appId={app}" if app else base


def page_now(endpoints: Endpoints, run: Run) -> str | None:
    """Return the page of a run's job at the master, like `page_of`, but look it up first."""
    return page_of(endpoints, run, _room(endpoints))


def _room(endpoints: Endpoints) -> Room | None:
    try:
        return spark_room.look(endpoints.spark_ui) if endpoints.spark_ui else None
    except NotReady:
        return None


YOUNG_S: Final = 600.0
"""How long a run may be on its way to a batch before that speaks against it, in seconds."""

_ON_THEIR_WAY: Final = (State.submitted, State.waiting, State.restarting)


def others_of(about: Surroundings, run: Run, most: int) -> list[tuple[Run, Life]]:
    """Return the other runs of a pipeline, the newest first, with what becomes of each.

    Args:
        most: how many of them, at most.

    Raises:
        InfraError: the master does not answer.
    """
    every = reversed(every_run(about.endpoints, run.pipeline))
    others = [one for one in every if one.run != run.run]
    return [(one, life_of(about.endpoints, one)) for one in others[:most]]


def waiting_for_ever(runs: Iterable[tuple[Run, Life]], at: datetime) -> str | None:
    """Say which runs wait, die or start for ever, as of now; None: none does."""
    said = []
    for run, found in runs:
        young = (at - run.submitted_at).total_seconds() < YOUNG_S
        if found.state in _ON_THEIR_WAY and not (young and found.state is State.submitted):
            why = f": {found.why}" if found.why else ""
            said.append(f"run {run.run} is {found.state}{why}")
    return "; ".join(said) or None


class Ends:
    """The ends of topics, each looked up once; after the first failure, no more lookups."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._bootstrap = endpoints.kafka_bootstrap
        self._known: dict[str, Mapping[int, int]] = {}

    @property
    def are_unknown(self) -> bool:
        """Whether no broker answers."""
        return not self._bootstrap

    def of(self, source: Source) -> dict[int, int] | None:
        """Return the ends by lane; None if the broker does not answer."""
        found: dict[int, int] = {}
        for part in source.parts:
            ends = self._asked(part.topic)
            if ends is None:
                return None
            for partition, end in ends.items():
                number = source.number(part.topic, partition)
                if number is not None:
                    found[number] = end
        return found

    def _asked(self, topic: str) -> Mapping[int, int] | None:
        if topic not in self._known and self._bootstrap:
            try:
                self._known[topic] = end_offsets(self._bootstrap, topic)
            except TopicError:
                return None
            except BrokerError:
                self._bootstrap = ""
        return self._known.get(topic)


@dataclass(frozen=True)
class Surroundings:
    """What is looked up once for several runs.

    Attributes:
        room: what the cluster says of its jobs; None: it is not there.
        ends: the ends of topics.
    """

    endpoints: Endpoints
    room: Room | None
    ends: Ends

    @classmethod
    def of(cls, endpoints: Endpoints) -> Surroundings:
        """Look at a stack."""
        return cls(endpoints, _room(endpoints), Ends(endpoints))


def _how_far(run: Run, ends: Ends) -> tuple[int, int | None]:
    if ends.are_unknown:
        return committed_offsets(run.checkpoint)[0], None
    try:
        pipeline = run.own_pipeline()
    except (PipelineError, RunError):
        return committed_offsets(run.checkpoint)[0], None
    batches, committed = committed_offsets(run.checkpoint, pipeline.source)
    until = ends.of(pipeline.source)
    if until is None:
        return batches, None
    return batches, sum(max(0, end - committed.get(lane, 0)) for lane, end in until.items())
