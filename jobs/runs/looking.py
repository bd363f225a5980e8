"""Observation of a run: gather the facts about its life from its folder and from the master."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infra import drivers, spark_room
from infra.endpoints import Endpoints
from infra.errors import NotReady
from jobs.checkpoints.checkpoint import committed_offsets, newest
from jobs.runs.attempts import Attempts, read_attempts
from jobs.runs.choice import read_order
from jobs.runs.folder import Run, failure
from jobs.runs.job_order import job_name
from jobs.runs.life import Deaths, Facts, Life, State, life
from jobs.runs.owner import REFUSED_FILE
from jobs.runs.waiting import lacks
from windowing.model.source import Source

_LAUNCH = "Launch Command: "
"""The first words that a worker writes to a driver's output at each start."""

_LOG_BYTES = 1 << 20
_RAISED = re.compile(r"^(?:Exception in thread \S+ )?((?:[\w.]+\.)?\w*(?:Error|Exception)\b.*)$")
_ONLY_REPORTED = "SparkUserAppException"
_WORDS_MAX = 500


@dataclass(frozen=True)
class Look:
    """An observation of a run.

    Attributes:
        deaths: deaths of its drivers since one was last healthy.
        log: the folder of the driver's output, if it is on this machine.
    """

    life: Life
    deaths: Deaths
    log: Path | None


def life_of(endpoints: Endpoints, run: Run) -> Life:
    """Return the state of a run.

    Raises:
        InfraError: the master does not answer.
    """
    return look_at(endpoints, run).life


def look_at(endpoints: Endpoints, run: Run) -> Look:
    """Observe a run; if the endpoints name no master, the stack is down.

    Raises:
        InfraError: the master does not answer.
    """
    noted = read_attempts(run.folder)
    driver, log = _driver(endpoints, run)
    launches, words = _launches(log) if not noted.begun else (0, None)
    facts = Facts(
        driver=driver,
        failure=failure(run),
        order=read_order(run.folder),
        available_now=run.options.available_now,
        begun=noted.begun,
        well=noted.well,
        deaths=noted.deaths,
        launches=launches,
        last_words=(_refused(run) if driver == "FINISHED" else None) or words,
        lacks=lacks(endpoints, run, driver) if not noted.well else None,
        batches=committed_offsets(run.checkpoint)[0],
        doing=_doing(endpoints, run, noted) if driver == "RUNNING" and not noted.well else None,
    )
    # A driver that was asked to stop died of that; such deaths do not count.
    deaths = noted.deaths if facts.order is None else Deaths()
    return Look(life(facts), deaths, log)


def _doing(endpoints: Endpoints, run: Run, noted: Attempts) -> str | None:
    """Say what a driver does before its next batch is done; None: the master does not know."""
    if not noted.begun:
        return "its JVM and Python start"
    if not endpoints.spark_ui:
        return None
    try:
        own = spark_room.look(endpoints.spark_ui).application(job_name(run.pipeline, run.run))
    except NotReady:
        return None
    if own is None:
        return "it compares checkpoint, tables and topics, and opens its Spark session"
    if not own.cores:
        return "its workers start"
    if newest(run.checkpoint / "offsets") <= newest(run.checkpoint / "commits"):
        return f"it has {own.cores} cores, and makes its first plan"
    return f"its {own.cores} cores compute the batch"


def _driver(endpoints: Endpoints, run: Run) -> tuple[str | None, Path | None]:
    """Return the state of the run's driver at the master, and the folder of its output."""
    if not drivers.can_be_asked(endpoints):
        return None, None
    # The submitting process may have died before the note had the driver's name.
    cluster = drivers.cluster(endpoints)
    known = run.submission_id or cluster.find_driver(endpoints, job_name(run.pipeline, run.run))
    if not known:
        return "UNKNOWN", None
    driver = cluster.status(endpoints, known)
    return driver.state, driver.log_dir


def _launches(log: Path | None) -> tuple[int, str | None]:
    """Return how often the cluster started a driver, and the last error in its output."""
    if log is None:
        return 0, None
    starts, out = _text(log / "stderr"), _text(log / "stdout")  # Python's errors are in the latter
    lines = [line.strip() for line in f"{starts}\n{out}".splitlines()]
    raised = [found[1] for line in lines if (found := _RAISED.match(line))]
    telling = [line for line in raised if _ONLY_REPORTED not in line]
    words = (telling or raised or [None])[-1]
    return starts.count(_LAUNCH), words and words[:_WORDS_MAX]


def _text(file: Path) -> str:
    if not file.exists():
        return ""
    with file.open("rb") as lines:
        return lines.read(_LOG_BYTES).decode("utf-8", errors="replace")


def _refused(run: Run) -> str | None:
    """Return the message of a driver that ended because another one owns the run."""
    file = run.folder / REFUSED_FILE
    return json.loads(file.read_text(encoding="utf-8"))["error"] if file.exists() else None


@dataclass(frozen=True)
class Progress:
    """The progress of a run.

    Attributes:
        committed: per partition, the next offset after the last committed batch.
        behind: offsets up to the target that are not committed yet.
        error: why the job gave up, else None.
        log: folder of the driver's output, where it is on this machine.
        why: a sentence on the state, if there is more to say.
        restarts: number of driver deaths since the last committed batch.
    """

    state: State
    batches: int
    committed: Mapping[int, int]
    behind: int
    error: str | None = None
    log: str | None = None
    why: str | None = None
    restarts: int = 0

    @property
    def done(self) -> bool:
        """Whether every offset up to the target is committed."""
        return self.behind == 0


def progress(
    endpoints: Endpoints, run: Run, until: Mapping[int, int], source: Source | None = None
) -> Progress:
    """Return the progress of a run towards the offsets `until` (per lane, exclusive).

    Args:
        until: the target, by lane number.
        source: numbers the lanes; None: one topic, whose partitions they are.
    """
    seen = look_at(endpoints, run)  # first: a finished run then shows its last offsets
    batches, committed = committed_offsets(run.checkpoint, source)
    behind = sum(max(0, end - committed.get(lane, 0)) for lane, end in until.items())
    failed = seen.life.state is State.failed
    return Progress(
        state=seen.life.state,
        batches=batches,
        committed=committed,
        behind=behind,
        error=seen.life.why if failed else None,
        log=str(seen.log) if seen.log else None,
        why=seen.life.why,
        restarts=seen.deaths.number,
    )
