"""Folders and files on this machine's file system or on HDFS, with the interface of `pathlib`.

Spark keeps checkpoints on either, and the tables lie there too; what examines, mends and writes
them is the same code. A place on HDFS is written `hdfs://host:port/folder`.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:  # users of folders alone need no package for it
    from windowing.files.hdfs import HdfsPath


_HDFS = "hdfs://"


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
    if text.startswith("file://"):
        return Path(text.removeprefix("file://"))
    if not text.startswith(_HDFS):
        msg = f"{text}: neither a folder nor hdfs://host:port/…: see infra/cluster/README.md"
        raise ValueError(msg)
    from windowing.files.hdfs import hdfs_path  # noqa: PLC0415 - only this needs its packages

    return cast(Path, hdfs_path(text))


def is_remote(where: Path) -> bool:
    """Return whether a place is on HDFS."""
    return not isinstance(where, PurePath)


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
    if is_remote(folder):
        if folder.exists():
            cast("HdfsPath", folder).rmdir(recursive=True)
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


def commit_file(folder: Path, version: int) -> Path:
    """Return the file of a table's commit in the table's log."""
    return folder / "_delta_log" / f"{version:020}.json"
