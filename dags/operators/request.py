"""What a DAG run was asked to do, and what was shown to whoever asked.

Between a look at a page and the task that carries out an action there may be days: another run may
be the live one by then, or the file another one. Then nothing is done. A DAG run that was triggered
elsewhere was shown nothing, and works on what is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException

from dags.entities import ACTIONS, dag_of, digest_of, pipeline_of
from dags.operators.command import project_root
from dags.operators.job import Job, meant
from windowing.model.file.yaml_lines import SHARED_LIMITS


def clear_number(context: Context) -> int:
    """Return how often the DAG run has been cleared: distinguishes a new attempt from a retry."""
    return context["dag_run"].clear_number or 0


SHOWN: Final = "shown"
"""The key in a DAG run's `conf`: `{"run": NAME or null, "file": DIGEST}`."""

_DIGITS = 12
"""How much of a digest people are shown."""

_LOOK = "nothing was done: look at the pipeline's page again"


@dataclass(frozen=True)
class ShownState:
    """What a page showed.

    Attributes:
        run: the live run, else the newest; None: the pipeline had never run.
        digest: of the pipeline file's content.
    """

    run: str | None
    digest: str

    @classmethod
    def of(cls, conf: Mapping[str, Any] | None) -> ShownState | None:
        """Return what is noted in a DAG run's `conf`; None: nothing was shown.

        Raises:
            ValueError: that is something else.
        """
        noted = (conf or {}).get(SHOWN)
        if noted is None:
            return None
        if isinstance(noted, dict) and noted.keys() == {"run", "file"}:
            run, digest = noted["run"], noted["file"]
            if isinstance(digest, str) and (run is None or isinstance(run, str)):
                return cls(run, digest)
        msg = f'{SHOWN} is what a page notes, as {{"run": "r1", "file": "DIGEST"}}: leave it out'
        raise ValueError(msg)

    @property
    def noted(self) -> dict[str, str | None]:
        """It as `conf` has it."""
        return {"run": self.run, "file": self.digest}

    def other_file(self, file: str, digest: str | None) -> str | None:
        """Say that the file is another one now; None: it is the same.

        Args:
            digest: of its content now; None: it is gone.
        """
        if digest == self.digest:
            return None
        now = "it is gone" if digest is None else f"its sha256 is {digest[:_DIGITS]}"
        before = f"the page showed {file} with the sha256 {self.digest[:_DIGITS]}"
        return f"{before}, and now {now}; {_LOOK}"

    def other_run(self, jobs: Sequence[Job], own: Sequence[str | None] = ()) -> str | None:
        """Say that another run is the live one now; None: it is the same.

        Args:
            jobs: the pipeline's runs now.
            own: runs which the DAG run itself makes the live one, so that it can be tried again.
        """
        job = meant(jobs)
        now = None if job is None else job.run
        if now == self.run or (now is not None and now in own):
            return None
        before = "no run" if self.run is None else f"run {self.run}"
        return f"the page showed {before}, and now {_named(now)} is the live one; {_LOOK}"


def _named(run: str | None) -> str:
    return "none" if run is None else f"run {run}"


def check_parameters(context: Context, known: Sequence[str]) -> None:
    """Check that a DAG run was given no parameter that its DAG has not: Airflow ignores those.

    A misspelled `run` would stop another run than was meant, an `action` deploy instead of stop.

    Raises:
        AirflowFailException: it was; a retry would not help.
    """
    run = context["dag_run"]
    unknown = sorted((run.conf or {}).keys() - {*known, SHOWN})
    if unknown:
        pipeline = pipeline_of(run.dag_id)
        others = ", ".join(dag_of(pipeline, action) for action in ACTIONS)
        msg = (
            f"the DAG {run.dag_id} has no parameter {', '.join(unknown)}: it has "
            f"{', '.join(known)}; other actions have DAGs of their own: {others}"
        )
        raise AirflowFailException(msg)


def digest_now(file: str) -> str | None:
    """Return the digest of a pipeline file's content; None: there is no such file."""
    path: Path = project_root() / file
    try:
        if not path.is_file():
            return None
        with path.open("rb") as opened:
            return digest_of(opened.read(SHARED_LIMITS.bytes_max + 1))
    except OSError:
        return None


def check_file(context: Context, file: str) -> ShownState | None:
    """Check that a pipeline file is the one that was shown; return what was shown, if anything was.

    Raises:
        AirflowFailException: it is another one; a retry would not help.
    """
    try:
        shown = ShownState.of(context["dag_run"].conf)
    except ValueError as error:
        raise AirflowFailException(str(error)) from None
    if shown is not None and (problem := shown.other_file(file, digest_now(file))):
        raise AirflowFailException(problem)
    return shown


def check_run(shown: ShownState | None, jobs: Sequence[Job], *own: str | None) -> None:
    """Check that the live run is the one that was shown.

    Raises:
        AirflowFailException: it is another one; a retry would not help.
    """
    if shown is not None and (problem := shown.other_run(jobs, own)):
        raise AirflowFailException(problem)
