"""Fault of the commit log in the checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from chaos.control.node_control import await_that
from chaos.errors import FaultDidNotApply
from chaos.faults.fault import FaultContext
from chaos.faults.kind import STANDALONE, Suggestion, fault

_DONE_AGAIN_S = 600.0


@fault(
    "lose_last_commit",
    stacks=STANDALONE,
    back_s=141,
    least_after=2,
    suggestion=Suggestion(7, "a batch is run again, and no row stands twice"),
)
@dataclass
class LoseLastCommit:
    """Loss of the last batch's commit while the job is stopped.

    The job must rerun that batch from the state before it, and its tables must not take any of its
    rows twice.
    """

    hold_s: float = 0.0
    _lost: Path | None = field(default=None, init=False)

    def inject(self, context: FaultContext) -> str:
        """Stop the job, and delete the newest entry of its commit log."""
        context.stop_job()
        commits = [
            path for path in (context.checkpoint / "commits").glob("*") if path.name.isdigit()
        ]
        if len(commits) < 2:
            msg = f"{len(commits)} batches are committed: with two or more, one can be lost"
            raise FaultDidNotApply(msg)
        lost = max(commits, key=lambda path: int(path.name))
        lost.unlink()
        lost.with_name(f".{lost.name}.crc").unlink(missing_ok=True)
        self._lost = lost
        return f"commits/{lost.name} is deleted"

    def heal(self, context: FaultContext) -> str:
        """Resubmit the job, and wait until the batch is committed a second time.

        Raises:
            FaultDidNotApply: the batch was not rerun.
        """
        context.submit_job()
        lost = self._lost
        if lost is None:
            return "job submitted again"
        if not await_that(lost.exists, _DONE_AGAIN_S):
            msg = f"batch {lost.name} was not run again within {_DONE_AGAIN_S:.0f} s"
            raise FaultDidNotApply(msg)
        return f"batch {lost.name} was run again"
