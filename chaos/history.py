"""The history of a run: one JSON object per line, appended as things happen, never changed.

The checks and the report read it, and nothing else of the run itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

EntryKind = Literal[
    "start",  # of the run: plan, seed, commit
    "sent",  # records were appended to the topic: total
    "begun",  # a batch was planned: batch
    "commit",  # a batch was committed: batch, total offsets
    "fault",  # took effect: fault, name, evidence, batches
    "no_effect",  # a fault did not take effect: fault, name, why
    "unsupported",  # a fault cannot be done on this machine: fault, name, why
    "named",  # what the job said of what it misses: fault, name, wanted, said, missing
    "deployed",  # what came of a deployment that was struck: fault, name, state, most, left
    "healed",  # a fault is over: fault, evidence
    "recovered",  # a batch was begun and committed since: fault, batch, seconds
    "stuck",  # no such batch in time: fault, seconds
    "progress",  # of a lane, as of a batch: batch, lane, progress_us, first, last
    "emitted",  # the first rows of windows, as of a batch: batch, query, end_us (the largest)
    "end",  # of the run: state
]


@dataclass(frozen=True)
class Entry:
    """An event of a run.

    Attributes:
        at_s: time in seconds since the start of the run.
    """

    at_s: float
    kind: EntryKind
    facts: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.facts[name]


@dataclass
class History:
    """The entries of a run, in the order in which they were recorded.

    Attributes:
        entries: oldest first; an entry derived from a file has the file's time.
        path: file to which entries are appended; None: none.
    """

    entries: list[Entry] = field(default_factory=list)
    path: Path | None = None

    def note(self, at_s: float, kind: EntryKind, **facts: Any) -> Entry:
        """Append an entry."""
        entry = Entry(round(at_s, 3), kind, facts)
        self.entries.append(entry)
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"at_s": entry.at_s, "kind": kind, **facts}) + "\n")
        return entry

    def of(self, *kinds: EntryKind) -> Iterator[Entry]:
        """Iterate over the entries of some kinds, oldest first."""
        return (entry for entry in self.entries if entry.kind in kinds)
