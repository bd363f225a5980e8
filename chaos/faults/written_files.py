"""Faults between the writing of a table's files and their commit.

Executors write the files of large results, and the driver commits them. What dies in between leaves
files that no commit names, and no reader may ever see.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Final

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from chaos.errors import FaultDidNotApply
from chaos.faults.cluster import processes
from chaos.faults.fault import FaultContext, NoCure
from chaos.faults.kind import STANDALONE, fault
from infra.spark_processes import Kind
from windowing.model import Pipeline

_WRITTEN_S: Final = 240.0
"""How long to wait for a file; the previous fault may have ended a driver."""

_LOOK_S: Final = 0.002


def _no_table(pipeline: Pipeline) -> Iterator[str]:
    if not pipeline.destination.rules.in_folder:
        yield "waits for files of tables, and the pipeline's sink has none"


@dataclass
class _KillBeforeCommit(NoCure):
    """SIGKILL of processes once files of results are written and not yet committed.

    Attributes:
        kinds: whose processes, in the order in which they are killed.
    """

    _: KW_ONLY
    kinds: Sequence[Kind]
    left = "left to the cluster"

    def inject(self, context: FaultContext) -> str:
        """Wait for files of the next batch, and kill.

        Raises:
            FaultDidNotApply: nobody wrote a file, or it was committed before all were dead.
        """
        # Before the wait: to look for processes takes longer than a commit.
        victims = [one for kind in self.kinds for one in processes(kind, context.nodes)]
        if not victims:
            msg = f"no {self.kinds[0]} runs on the cluster: is a job running?"
            raise FaultDidNotApply(msg)
        written = _await_files(context)
        gone = ", ".join(context.nodes.kill(victim.process) for victim in victims)
        left = written - _committed(context)
        if not left:
            msg = f"{gone}, after the commit of {len(written)} files"
            raise FaultDidNotApply(msg)
        return f"{gone}; {min(left).name} is written, and no commit names it"


# Tasks are rerun, and write other files.
fault("kill_executors_before_commit", back_s=30, misfits=_no_table, stacks=STANDALONE)(
    _KillBeforeCommit, kinds=("executor",)
)
# The batch is rerun. The Python half commits, and would go on for a moment without the other.
fault("kill_driver_before_commit", back_s=96, misfits=_no_table, stacks=STANDALONE)(
    _KillBeforeCommit, kinds=("driver-python", "driver")
)


def _await_files(context: FaultContext) -> set[Path]:
    """Wait until there are files of results that were not there before; return these.

    Raises:
        FaultDidNotApply: there are none for a long time.
    """
    before, until = _files(context), time.monotonic() + _WRITTEN_S
    while not (news := _files(context) - before):
        if time.monotonic() > until:
            msg = f"no file of a table was written for {_WRITTEN_S:.0f} s"
            raise FaultDidNotApply(msg)
        time.sleep(_LOOK_S)
    return news


def _files(context: FaultContext) -> set[Path]:
    """Return the data files of all results, committed or not."""
    tables = (context.tables / name for name in context.pipeline.tables)
    return {path for table in tables for path in table.glob("run=*/part-*.parquet")}


def _committed(context: FaultContext) -> set[Path]:
    named = set()
    for name in context.pipeline.tables:
        folder = context.tables / name
        try:
            actions = DeltaTable(str(folder)).get_add_actions(flatten=True)
        except TableNotFoundError:
            continue
        named |= {folder / path for path in actions["path"].to_pylist()}
    return named
