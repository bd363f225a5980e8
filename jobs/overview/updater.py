"""Updates what an overview counts of a run's tables, beside the job that writes them.

So the first look at a run that is a year old reads sums, not rows. What is much to read, as after
`optimize`, is left to whoever looks: a driver has its memory for its job.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobs.checkpoints.checkpoint import committed_offsets
from jobs.overview import cache
from jobs.overview.tables import Tables
from windowing.files.places import is_remote

EVERY_S: Final = 60.0
"""How often, in seconds."""

SHARE: Final = 0.05
"""The share of the time that it takes at most: after a long look the next one is later."""

BYTES_MAX: Final = 32 << 20
"""How large new files of a table may be, in bytes, to be read here."""


class UpdateError(RuntimeError):
    """What was counted could not be written."""


@dataclass
class Updater:
    """The updater of one run's counts.

    Args:
        checkpoint: its checkpoint: a batch is counted once it is committed.
        tables: the folder of its tables.
        of_results: the names of those with results.
        fates: the names of those that windows have no part in.
        bytes_max: how large new files of a table may be to be read here; None: of any size.
        clock: seconds that only go forward.
    """

    run_folder: Path
    checkpoint: Path
    tables: Path
    run: str
    of_results: Sequence[str]
    fates: Sequence[str] = ()
    bytes_max: int | None = BYTES_MAX
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._due_s = self.clock() + EVERY_S

    def update_if_due(self) -> None:
        """Count what is new, if it is time to.

        Raises:
            UpdateError: the file cannot be written.
        """
        began_s = self.clock()
        if began_s < self._due_s:
            return
        try:
            self.update()
        finally:
            took_s = self.clock() - began_s
            self._due_s = began_s + max(EVERY_S, took_s / SHARE)

    def update(self) -> None:
        """Count what is new; raise as of `update_if_due`."""
        if is_remote(self.tables):
            return  # such tables are read as a whole, each time
        known = cache.load(self.run_folder, self.tables)
        before = committed_offsets(self.checkpoint)[0] if self.checkpoint.exists() else None
        found = Tables(self.tables, self.run, known, before, self.fates, self.bytes_max)
        found.results(self.of_results)
        found.lanes()
        found.dead()
        # A table that cannot be read is shown by whoever looks.
        if found.changed and (why := cache.save(self.run_folder, found.finish())) is not None:
            raise UpdateError(why)
