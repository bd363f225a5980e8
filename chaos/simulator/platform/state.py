"""Simulated state files: deltas and snapshots of every task's state, one version per batch.

The layout is Spark's: batch n starts from version n and commits version n + 1; committing a version
again replaces it. A changed pipeline's version is written whole. Every file has a checksum.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

Values = dict[str, bytes]
Task = tuple[str, int]
"""`("lane", partition)` or `("shard", number)`."""

_SNAPSHOT_EVERY = 4


class StateDamaged(Exception):
    """A state file whose content does not match its checksum."""

    def __init__(self, file: str) -> None:
        self.file = file
        super().__init__(f"state file {file} is damaged: restore it, or start a new run")


class _Delta(msgspec.Struct, array_like=True):
    puts: Values
    deletes: list[str]


@dataclass
class StateFile:
    """A state file.

    Attributes:
        written: the content as written.
        checksum: checksum of the content as written.
    """

    data: bytes
    written: bytes
    checksum: int

    @property
    def sound(self) -> bool:
        """Whether the content matches the checksum."""
        return zlib.crc32(self.data) == self.checksum


class StateFiles:
    """All state files of one run."""

    def __init__(self) -> None:
        self._files: dict[str, StateFile] = {}

    def load(self, task: Task, version: int) -> Values:
        """Load the values of a task at a version.

        Raises:
            StateDamaged: one of the files does not match its checksum.
        """
        base, values = self._snapshot_before(task, version)
        for number in range(base + 1, version + 1):
            self.apply(_name(task, number, "delta"), values)
        return values

    def commit(self, task: Task, version: int, before: Values, after: Values) -> None:
        """Write a version, given the one before it."""
        # A batch that is run again replaces what a change of the pipeline has left.
        self._files.pop(_name(task, version, "snapshot"), None)
        puts = {key: value for key, value in after.items() if before.get(key) != value}
        deletes = sorted(before.keys() - after.keys())
        self._write(_name(task, version, "delta"), msgspec.msgpack.encode(_Delta(puts, deletes)))
        if version % _SNAPSHOT_EVERY == 0:
            self._write(_name(task, version, "snapshot"), msgspec.msgpack.encode(after))

    def replace(self, task: Task, version: int, values: Values) -> None:
        """Write a version whole, without one before it."""
        self._files.pop(_name(task, version, "delta"), None)
        self._write(_name(task, version, "snapshot"), msgspec.msgpack.encode(values))

    def begin_empty(self, task: Task, version: int) -> None:
        """Let a task that is new have nothing in this version, nor in any before it."""
        for number in range(version + 1):
            self.replace(task, number, {})

    def damage(self, task: Task, version: int) -> str:
        """Flip a bit in the newest file of this version; return the file's name."""
        kind = "snapshot" if _name(task, version, "snapshot") in self._files else "delta"
        name = _name(task, version, kind)
        file = self._files[name]
        file.data = file.data[:-1] + bytes([file.data[-1] ^ 1])
        return name

    def repair(self, name: str) -> None:
        """Restore a file as it was written."""
        self._files[name].data = self._files[name].written

    def apply(self, name: str, values: Values) -> None:
        """Apply a delta to the values.

        Raises:
            StateDamaged: the file does not match its checksum.
        """
        delta = msgspec.msgpack.decode(self.read(name), type=_Delta)
        values.update(delta.puts)
        for key in delta.deletes:
            values.pop(key, None)

    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises:
            StateDamaged: the file does not match its checksum.
        """
        file = self._files[name]
        if not file.sound:
            raise StateDamaged(name)
        return file.data

    def _snapshot_before(self, task: Task, version: int) -> tuple[int, Values]:
        base = version
        while base and _name(task, base, "snapshot") not in self._files:
            base -= 1
        if base == 0:
            return 0, {}
        data = self.read(_name(task, base, "snapshot"))
        return base, msgspec.msgpack.decode(data, type=Values)

    def _write(self, name: str, data: bytes) -> None:
        self._files[name] = StateFile(data, data, zlib.crc32(data))


def _name(task: Task, version: int, kind: str) -> str:
    return f"{task[0]}-{task[1]}/{version}.{kind}"


class SimulatedMap:
    """A map state with Spark's methods; `snapshot` is what its task commits."""

    def __init__(self, values: dict[str, bytes]) -> None:
        self._values = dict(values)

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:  # noqa: N802 - the name is Spark's
        """Return the value of a key, or None."""
        found = self._values.get(*key)
        return None if found is None else (found,)

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:  # noqa: N802
        """Set the value of a key."""
        [self._values[key[0]]] = value

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802 - the name is Spark's
        """Remove a key; a missing one is ignored."""
        self._values.pop(*key, None)

    def iterator(self) -> Iterator[tuple[tuple[str], tuple[bytes]]]:
        """Return all keys with their values, in any order."""
        return iter([((key,), (value,)) for key, value in self._values.items()])

    def snapshot(self) -> dict[str, bytes]:
        """Return the content."""
        return dict(self._values)
