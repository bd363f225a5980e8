"""Writing a picture: the file appears whole, in the format that its ending says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from windowing.whole_files import whole_file

FORMATS = (".png", ".svg")


class PictureError(ValueError):
    """A file that no picture can be written to."""

    exit_code = 2


def format_of(path: Path) -> str:
    """The format that a file's ending says.

    Raises:
        PictureError: none that we write.
    """
    ending = path.suffix.lower()
    if ending not in FORMATS:
        msg = f"{path}: a picture is written as .png or .svg: give the file one of these endings"
        raise PictureError(msg)
    return ending.removeprefix(".")


def save(figure: Figure, path: Path, *, dpi: int) -> None:
    """Write a figure; the same figure is the same bytes.

    Raises:
        PictureError: the file has another ending.
        WriteError: it cannot be written.
    """
    kind = format_of(path)
    # Without it, an SVG is another file each time.
    metadata: Mapping[str, None] | None = {"Date": None} if kind == "svg" else None
    with whole_file(path) as file:
        figure.savefig(file, format=kind, dpi=dpi, facecolor="white", metadata=metadata)
