"""Places on HDFS, with the interface of `pathlib`; imported when there is one."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import fsspec
from hdfs_native import Client
from hdfs_native.fsspec import HdfsFileSystem
from upath import UPath
from upath._stat import UPathStatResult
from upath.implementations.hdfs import HDFSPath
from upath.registry import register_implementation

SCHEME = "hdfs"
_WORDS_MAX = 300
# Some seconds instead of three minutes: who waits for longer learns why, and tries again.
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
        return f"{SCHEME}://{host or ''}{f':{port}' if port else ''}{self.path}"

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
    go of it, and waits forever if it tries. So each has its own, and the parent's stays.
    """
    del process
    connection = HdfsFileSystem(host, port, skip_instance_cache=True, **_PATIENCE)
    connection.client = cast(Client, _Client(connection.client))
    return connection


fsspec.register_implementation(SCHEME, HdfsFileSystem, clobber=True)
register_implementation(SCHEME, HdfsPath, clobber=True)


def hdfs_path(text: str) -> HdfsPath:
    """Return the place of an address, `hdfs://host:port/folder`."""
    return cast(HdfsPath, UPath(text))
