"""Files that appear whole or not at all, several of them together.

What is being written has no name until it is complete: if the process is killed, nothing is left of
it. Then it takes its place by a rename, so that a reader finds the old content or the new one.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

_NAMELESS = getattr(os, "O_TMPFILE", 0)
# What systems say of a file system that has no nameless files.
_UNKNOWN = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT}


class WriteError(OSError):
    """A file that cannot be written; what stood there before still does."""

    exit_code = 1


@contextlib.contextmanager
def whole_files(*paths: Path) -> Iterator[tuple[BinaryIO, ...]]:
    """Open files to be written; they take their places together at the end, or none does.

    A path that names something else than a file, such as a terminal or a pipe, is written to as it
    is. A link keeps pointing where it does; a file that is replaced hands on its mode.

    Args:
        paths: where to; in folders that exist.

    Raises:
        WriteError: there is no room, no such folder, or no permission. All is as it was before.
    """
    drafts: list[_Draft] = []
    try:
        for path in paths:
            drafts.append(_Draft(path))
        yield tuple(draft.file for draft in drafts)
        for draft in drafts:
            draft.settle()
        _replace(drafts)
    except OSError as error:
        if isinstance(error, WriteError) or _is_of_another(error, drafts):
            raise
        names = " and ".join(map(str, paths))
        problem = error.strerror or str(error)
        msg = f"{names}: cannot be written: {problem}; what was there before is unchanged"
        raise WriteError(msg) from error
    finally:
        for draft in drafts:
            draft.discard()


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open one file to be written; see `whole_files`."""
    with whole_files(path) as (file,):
        yield file


def _is_of_another(error: OSError, drafts: Sequence[_Draft]) -> bool:
    """Whether an error is about a file that the caller reads; a write's error names no file."""
    own = {str(draft.target.parent) for draft in drafts}
    name = error.filename
    return bool(drafts) and name is not None and str(Path(name).parent) not in own


class _Draft:
    """A file on its way.

    Attributes:
        target: its place, links followed.
        file: what is written to.
    """

    def __init__(self, path: Path) -> None:
        self.target = path.resolve()
        self._named: Path | None = None
        self._direct = self.target.exists() and not self.target.is_file()
        if self._direct:
            self.file: BinaryIO = self.target.open("wb")
            return
        folder = self.target.parent
        try:
            if not _NAMELESS:
                raise OSError(errno.EOPNOTSUPP, "no nameless files")
            number = os.open(folder, _NAMELESS | os.O_WRONLY | os.O_CLOEXEC, 0o666)
        except OSError as error:
            if error.errno not in _UNKNOWN or not folder.is_dir():
                raise
            self._named = _fresh_name(folder)
            number = os.open(
                self._named, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666
            )
        self.file = os.fdopen(number, "wb")

    def settle(self) -> None:
        """Bring all that was written to the disk, under its own name."""
        self.file.flush()
        if self._direct:
            return
        os.fsync(self.file.fileno())
        if self._named is None:
            named = _fresh_name(self.target.parent)
            folder = os.open(self.target.parent, os.O_RDONLY)
            try:
                # With a folder's descriptor, Python asks the system to follow the link in /proc.
                os.link(f"/proc/self/fd/{self.file.fileno()}", named, src_dir_fd=folder)
            finally:
                os.close(folder)
            self._named = named
        if self.target.exists():
            shutil.copymode(self.target, self._named)

    def rename(self) -> None:
        """Take the place."""
        if self._named is not None:
            self._named.replace(self.target)
            self._named = None

    def discard(self) -> None:
        """Clear away what has not taken its place."""
        with contextlib.suppress(OSError):
            self.file.close()
        if self._named is not None:
            self._named.unlink(missing_ok=True)


def _replace(drafts: Sequence[_Draft]) -> None:
    """Rename all; if one of them cannot be, put back what the others have replaced."""
    kept: list[tuple[Path, Path | None]] = []
    try:
        for draft in drafts:
            before = _second_name(draft.target) if len(drafts) > 1 else None
            kept.append((draft.target, before))
            draft.rename()
    except BaseException:
        for target, before in kept[:-1]:
            if before is None:
                target.unlink(missing_ok=True)
            else:
                before.replace(target)
        raise
    finally:
        for _, before in kept:
            if before is not None:
                before.unlink(missing_ok=True)
    for folder in {draft.target.parent for draft in drafts}:
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _second_name(target: Path) -> Path | None:
    """Another name for what stands there, for as long as it may be wanted back."""
    if not target.is_file():
        return None
    name = _fresh_name(target.parent)
    try:
        os.link(target, name)
    except OSError:  # a file system without links
        shutil.copy2(target, name)
    return name


def _fresh_name(folder: Path) -> Path:
    """A name that nobody has: of this process, and of none before it that had its number."""
    names = (folder / f".slackwater-{os.getpid()}-{n}.partial" for n in itertools.count())
    return next(name for name in names if not name.exists())
