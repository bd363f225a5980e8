"""What was measured, as a file that grows run by run: a command that ends early can be continued.

A ratio is taken within its round, so rounds of several commands make one result if the code, the
machine and the work are the same. Of an interrupted round, only the cases that it finished count.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.figures import RECORDS, ROOT, Rounds
from benchmarks.runs import RunTiming

_MEASURED = ("windowing", "jobs", "benchmarks/*.py")


class OtherWorkError(ValueError):
    """A record that is of other code, another machine, or other work."""


def code() -> str:
    """Name the code that is measured, by its content as committed; `changed`: nothing names it."""

    def git(*arguments: str) -> bytes:
        command = ["git", *arguments, "--", *_MEASURED]
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout

    try:
        digest = hashlib.sha256(git("ls-files", "--stage")).hexdigest()[:12]
        return f"{digest}, changed" if git("status", "--porcelain") else digest
    except (OSError, subprocess.CalledProcessError):
        return "not of a checkout, changed"


@dataclass(frozen=True)
class Record:
    """A record that is being written."""

    file: Path
    command: Mapping[str, Any]
    described: Mapping[str, Any]

    @classmethod
    def new(cls, command: Mapping[str, Any], described: Mapping[str, Any]) -> Record:
        """Return a record under its own name."""
        RECORDS.mkdir(parents=True, exist_ok=True)
        name = f"spark-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
        return cls(RECORDS / name, command, described)

    def keep(self, rounds: Rounds) -> None:
        """Write everything that was measured so far."""
        runs = {
            case: {path: [asdict(run) for run in found] for path, found in by_path.items()}
            for case, by_path in rounds.items()
        }
        now = datetime.now(UTC).isoformat()
        content = {"at": now, "command": self.command, "machine": self.described, "runs": runs}
        partial = self.file.with_suffix(".partial")
        partial.write_text(json.dumps(content, indent=2), encoding="utf-8")
        partial.replace(self.file)

    def continued(self, earlier: Path) -> dict[str, dict[str, list[RunTiming]]]:
        """Return the runs of an earlier record of the same work.

        Raises:
            OtherWorkError: it is of other work, or code was changed and not committed.
        """
        found = json.loads(earlier.read_text(encoding="utf-8"))
        for what, kept, ours in [
            *_differences(found["command"], self.command, ["rounds"]),
            *_differences(found["machine"], self.described, ["load_average"]),
        ]:
            msg = f"{earlier} is of other work: its {what} is {kept}, now it would be {ours}"
            raise OtherWorkError(msg)
        if "changed" in str(self.described["code"]):
            msg = f"commit what has changed in {', '.join(_MEASURED)}: nobody could tell what ran"
            raise OtherWorkError(msg)
        return {
            case: {path: [RunTiming(**run) for run in runs] for path, runs in by_path.items()}
            for case, by_path in found["runs"].items()
        }


def _differences(
    kept: Mapping[str, Any], ours: Mapping[str, Any], ignored: Sequence[str]
) -> list[tuple[str, Any, Any]]:
    names = [name for name in {**kept, **ours} if name not in ignored]
    return [(n, kept.get(n), ours.get(n)) for n in names if kept.get(n) != ours.get(n)]
