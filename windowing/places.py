"""Folders and files on this machine's file system or on HDFS, with the interface of `pathlib`.

Spark keeps checkpoints on either, and the tables lie there too; what examines, mends and writes
them is the same code. A place on HDFS is written `hdfs://host:port/folder`.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, cast

import fsspec
from hdfs_native import Client
from hdfs_native.fsspec import HdfsFileSystem
from upath import UPath
from upath._stat import UPathStatResult
from upath.implementations.hdfs import HDFSPath
from upath.registry import register_implementation

_SCHEME = "hdfs"
_WORDS_MAX = 300
# Some seconds instead of three minutes: who waits for longer is told why, and tries again.
_PATIENCE = {
    "dfs.client.failover.max.attempts": "4",
    "dfs.client.failover.sleep.max.millis": "2000",
}


class HdfsPath(HDFSPath):
    """A place on HDFS. What it does not have of `pathlib`, such as locks, raises a `TypeError`."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the whole address, which Spark and Delta understand."""
        if self._relative_base is not None:
            return super().__str__()
        host, port = (self.storage_options.get(name) for name in ("host", "port"))
        return f"{_SCHEME}://{host or ''}{f':{port}' if port else ''}{self.path}"

    @property
    def fs(self) -> HdfsFileSystem:
        """Return this process's connection."""
        return _connection(os.getpid(), *map(self.storage_options.get, ("host", "port")))

    def replace(self, target: Any) -> HdfsPath:
        """Take the place of another file at once."""
        self.fs.mv(self.path, target.path, overwrite=True)
        return cast(HdfsPath, target)

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Make a folder."""
        del mode  # HDFS has its own mask
        if self.exists() and not (exist_ok and self.is_dir()):
            raise FileExistsError(errno.EEXIST, "it exists", str(self))
        self.fs.mkdir(self.path, create_parents=parents)

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove a file."""
        if self.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder", str(self))
        if not self.fs.client.delete(self.path, recursive=False) and not missing_ok:
            raise FileNotFoundError(errno.ENOENT, "it does not exist", str(self))

    def rmdir(self, recursive: bool = False) -> None:
        """Remove a folder, which must be empty unless `recursive`."""
        if not self.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "it is no folder", str(self))
        self.fs.client.delete(self.path, recursive=recursive)

    def stat(self, *, follow_symlinks: bool = True) -> UPathStatResult:
        """Return size and time of a file."""
        del follow_symlinks
        info = self.fs.info(self.path)
        return UPathStatResult.from_info({**info, "mtime": info["modification_time"] / 1_000})


class _Client:
    """A client whose errors are all `OSError`s: it has another kind for what it does not know."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                found = getattr(self._client, name)(*args, **kwargs)
                return list(found) if name == "list_status" else found
            except RuntimeError as error:
                raise OSError(errno.EIO, " ".join(str(error).split())[:_WORDS_MAX]) from error

        return called


@cache
def _connection(process: int, host: str | None, port: int | None) -> HdfsFileSystem:
    """Connect to a NameNode, once in each process.

    The threads of a connection do not survive a fork: a child can neither use its parent's nor let
    go of it, and waits for ever if it tries. So each has its own, and the parent's stays.
    """
    del process
    connection = HdfsFileSystem(host, port, skip_instance_cache=True, **_PATIENCE)
    connection.client = cast(Client, _Client(connection.client))
    return connection


fsspec.register_implementation(_SCHEME, HdfsFileSystem, clobber=True)
register_implementation(_SCHEME, HdfsPath, clobber=True)


def place(text: str | Path) -> Path:
    """Return the place that a text names, on HDFS or on this machine.

    A place on HDFS has what `Path` has, and is annotated as one: the standard library has no type
    for both.

    Raises:
        ValueError: it is on a store of another kind, which has no atomic renames.
    """
    if not isinstance(text, str):
        return text
    if "://" not in text:
        return Path(text)
    scheme = text.partition("://")[0]
    if scheme == "file":
        return Path(text.removeprefix("file://"))
    if scheme != _SCHEME:
        msg = f"{text}: neither a folder nor hdfs://host:port/…: see infra/cluster/README.md"
        raise ValueError(msg)
    return cast(Path, UPath(text))


def is_remote(where: Path) -> bool:
    """Return whether a place is on HDFS."""
    return isinstance(where, HdfsPath)


def name_once(written: Path, where: Path) -> bool:
    """Give a complete file its name at once, or return False if another has it; it moves there.

    Raises:
        OSError: neither is possible.
    """
    try:
        if is_remote(where):
            written.rename(where)  # HDFS never overwrites by that
        else:
            os.link(written, where)
    except FileExistsError:
        return False
    finally:
        written.unlink(missing_ok=True)
    return True


def move_file(file: Path, where: Path) -> None:
    """Let a file take the place of another, which is at no moment absent or incomplete.

    Between file systems, an interrupted move may leave the file in both.
    """
    if is_remote(file) == is_remote(where):
        file.replace(where)
        return
    written = where.with_name(f".{where.name}.new")
    written.write_bytes(file.read_bytes())
    written.replace(where)
    file.unlink()


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that is in it, if it exists."""
    if isinstance(folder, HdfsPath):
        if folder.exists():
            folder.rmdir(recursive=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)


def write_new(where: Path, content: bytes) -> None:
    """Write a new file, in folders that are made, and wait until it is on disk.

    HDFS waits until all replicas have it.

    Raises:
        FileExistsError: there is one with this name.
        OSError: it cannot be written.
    """
    where.parent.mkdir(parents=True, exist_ok=True)
    if is_remote(where):
        with where.open("wb", overwrite=False) as file:  # type: ignore[call-overload]
            file.write(content)
        return
    with where.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    _sync_folder(where.parent)


def _sync_folder(folder: Path) -> None:
    """Wait until a new file's entry in its folder is on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
