"""Writing a picture: the file appears complete, in the format of its suffix."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from windowing.files.whole_files import whole_file

FORMATS = (".png", ".svg")


class PictureError(ValueError):
    """A file to which a picture cannot be written."""

    exit_code = 2


def format_of(path: Path) -> str:
    """Return the format of a file's suffix.

    Raises:
        PictureError: the format is not supported.
    """
    ending = path.suffix.lower()
    if ending not in FORMATS:
        msg = f"{path}: a picture is written as .png or .svg: give the file one of these endings"
        raise PictureError(msg)
    return ending.removeprefix(".")


def save(figure: Figure, path: Path, *, dpi: int) -> None:
    """Write a figure; the same figure gives the same bytes.

    Raises:
        PictureError: the file has another suffix.
        WriteError: it cannot be written.
    """
    kind = format_of(path)
    # Otherwise an SVG differs each time.
    metadata: Mapping[str, None] | None = {"Date": None} if kind == "svg" else None
    with whole_file(path) as file:
        figure.savefig(file, format=kind, dpi=dpi, facecolor="white", metadata=metadata)
