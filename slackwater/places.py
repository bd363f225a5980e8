"""Checks of output files: their folder must exist, and they must not overwrite an input.

Two paths are the same if they lead to one file on the disk, by any names and links.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import typer

_NAME_MAX = 255  # NAME_MAX of common file systems


def check_places(outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | None]) -> None:
    """Check that outputs can be written, without overwriting anything that is read.

    Args:
        outputs: files to write, by their names in messages; None: not requested.

    Raises:
        BadParameter: a file would overwrite an input or another output, or its folder is missing.
    """
    taken = {name: path for name, path in inputs.items() if path is not None}
    for name, path in outputs.items():
        if path is None:
            continue
        for other, its in taken.items():
            if _same(path, its):
                msg = f"{name} {path} is the file of {other}, {its}: it would be lost; name another"
                raise typer.BadParameter(msg)
        _check_folder(name, path)
        taken[name] = path


def check_picture(name: str, picture: Path | None, inputs: Mapping[str, Path | None]) -> None:
    """Check a picture too, whose suffix must name a supported format.

    Raises:
        BadParameter: as for `check_places`.
        PictureError: it has another suffix.
    """
    check_places({name: picture}, inputs)
    if picture is not None:
        from jobs.tools.picture_file import format_of

        format_of(picture)


def _same(one: Path, other: Path) -> bool:
    """Whether two paths lead to the same file, or to the same place for a new file."""
    if os.path.realpath(one) == os.path.realpath(other):
        return not _is_no_file(one)
    try:
        return one.samefile(other) and not _is_no_file(one)
    except OSError:
        return False


def _is_no_file(path: Path) -> bool:
    """Whether it is a terminal, a pipe or the like, which cannot be overwritten."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _check_folder(name: str, path: Path) -> None:
    target = Path(os.path.realpath(path))
    if len(os.fsencode(target.name)) > _NAME_MAX:
        msg = f"{name} {path}: a file's name has at most {_NAME_MAX} bytes: shorten it"
        raise typer.BadParameter(msg)
    if target.is_dir():
        msg = f"{name} {path} is a folder: name a file in it"
        raise typer.BadParameter(msg)
    if not target.parent.is_dir():
        msg = f"{name} {path}: there is no folder {target.parent}: make it first"
        raise typer.BadParameter(msg)
    if not os.access(target.parent, os.W_OK) and not _is_no_file(target):
        msg = f"{name} {path}: nothing may be written into {target.parent}: name another place"
        raise typer.BadParameter(msg)
