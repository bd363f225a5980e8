"""The log of a Delta table, as a writer keeps it that only appends: each commit costs what it adds.

deltalake lists a table's log and rebuilds the list of its files at each commit and at each look, so
batches of an old table cost several times those of a new one. To append, a writer needs only the
number of the last commit, the columns, and its own transactions; the commits of others say how they
change. deltalake opens tables and writes checkpoints of logs (see `adr/0030`).
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from deltalake import DeltaTable, Schema

from windowing.engine.tuning import tuning
from windowing.files.places import commit_file, name_once
from windowing.model.run_errors import TableConflict
from windowing.runtime.token import Kept, Token
from windowing.spark.sinks.data_files import RUN, DataFile, add_action

_WRITER_VERSION: Final = 2
"""The highest version of Delta's protocol for writers that this one fulfils."""

STAGED: Final = "_commit_*.json.tmp"
"""The names of commits that are being written; a driver that dies may leave one."""


class TableLog:
    """A table's log for one run's batches.

    Args:
        folder: the folder of an existing table.
        table: the table, if it has been opened: opening one takes milliseconds, and of an object
            store several requests.

    Attributes:
        version: the number of the last known commit.
        kept: the run's last batch in the table.

    Raises:
        TableConflict: the table asks more of its writers than this one can do.
    """

    def __init__(self, folder: Path, run: str, table: DeltaTable | None = None) -> None:
        self._folder, self._run = folder, run
        self._begin(table or DeltaTable(str(folder)))

    def catch_up(self) -> None:
        """Read the commits that others have added.

        Raises:
            TableConflict: the table now asks more of its writers than this one can do.
        """
        if not self._commit_file(self.version).exists():
            # Logs are removed from their beginning, so ours is older than all that is there; or the
            # table was replaced by a copy.
            self._begin(DeltaTable(str(self._folder)))
        while (news := self._commit_file(self.version + 1)).exists():
            for line in news.read_text(encoding="utf-8").splitlines():
                self._take(json.loads(line))
            self.version += 1

    def append(self, files: Sequence[DataFile], token: Token) -> bool:
        """Commit files, possibly none, with the number and the token of their batch.

        Args:
            files: of this table.

        Returns:
            whether they are committed. If not, another writer was faster: then its commits are read
            and nothing is written, so that the caller can decide again.

        Raises:
            UnseenFile: a file is not where this process looks for it.
        """
        actions = [
            self._commit_info(token),
            *({"add": add_action(self._folder, file)} for file in files),
            *({"txn": {"appId": app, "version": v}} for app, v in self._transactions(token)),
        ]
        text = "\n".join(json.dumps(action, separators=(",", ":")) for action in actions)
        if not _put_if_absent(self._commit_file(self.version + 1), text):
            self.catch_up()
            return False
        self.version += 1
        self.kept = Kept(token.batch_id, token.digest)
        if self.version >= self._checkpoint_due:
            self._checkpoint()
        return True

    def _begin(self, table: DeltaTable) -> None:
        self.version, self.schema = table.version(), pa.schema(table.schema().to_arrow())
        self._check(table.protocol().min_writer_version)
        self.kept = kept_in(table, self._run)
        self._checkpoint_due = self._next_checkpoint()

    def _check(self, writer_version: int) -> None:
        if writer_version > _WRITER_VERSION:
            msg = (
                f"{self._folder} asks for writers of Delta's version {writer_version}, and the "
                f"sink writes version {_WRITER_VERSION}: a feature of the table was switched on by "
                "another program; name another sink"
            )
            raise TableConflict(msg)

    def _take(self, action: dict[str, Any]) -> None:
        """Note an action of another writer; files are no concern of one that only appends."""
        if (changed := action.get("metaData")) is not None:
            self.schema = pa.schema(Schema.from_json(changed["schemaString"]).to_arrow())
        elif (protocol := action.get("protocol")) is not None:
            self._check(protocol["minWriterVersion"])
        elif (written := action.get("txn")) is not None:
            if written["appId"] == self._run:
                self.kept = self.kept._replace(batch=written["version"])
            elif written["appId"] == _digest_of(self._run):
                self.kept = self.kept._replace(digest=written["version"])

    def _transactions(self, token: Token) -> list[tuple[str, int]]:
        return [(self._run, token.batch_id), (_digest_of(self._run), token.digest)]

    def _commit_info(self, token: Token) -> dict[str, Any]:
        """Return what `history()` shows of a commit."""
        said = {"run": self._run, "batch": token.batch_id}
        said |= {"lanes": token.lanes, "topics": token.topics}
        return {
            "commitInfo": {
                "timestamp": time.time_ns() // 1_000_000,
                "operation": "WRITE",
                "operationParameters": {"mode": "Append", "partitionBy": json.dumps([RUN])},
                "isBlindAppend": True,
                "engineInfo": "slackwater",
                "slackwater": json.dumps(said),
            }
        }

    def _checkpoint(self) -> None:
        """Write a checkpoint, from which readers start, and remove expired commits before it."""
        table = DeltaTable(str(self._folder))
        table.create_checkpoint()
        table.cleanup_metadata()
        self._checkpoint_due = self._next_checkpoint()

    def _next_checkpoint(self) -> int:
        try:
            text = (self._folder / "_delta_log" / "_last_checkpoint").read_text(encoding="utf-8")
        except FileNotFoundError:
            return tuning().log_checkpoint_commits - 1
        last = json.loads(text)
        # A checkpoint costs as much as it holds.
        by_size = int(last["size"]) // tuning().log_checkpoint_entries_per_commit
        return int(last["version"]) + max(tuning().log_checkpoint_commits, by_size)

    def _commit_file(self, version: int) -> Path:
        return commit_file(self._folder, version)


def kept_in(table: DeltaTable, run: str) -> Kept:
    """Return a run's last batch in a table."""
    return Kept(table.transaction_version(run), table.transaction_version(_digest_of(run)))


def _digest_of(run: str) -> str:
    """Return the application, not a run's name, whose version is a run's last digest."""
    return f"{run}/token"


def _put_if_absent(place: Path, text: str) -> bool:
    """Create a file with all of its text at once; return False if it exists."""
    staged = place.with_name(STAGED.replace("*", str(uuid.uuid4())))
    staged.write_text(text, encoding="utf-8")
    return name_once(staged, place)
