"""Ownership of a state folder: a marker says what the stack may delete in it.

`SLACKWATER_STATE_DIR` may name any folder, even a home directory. What was there before is never
deleted, whatever its name.
"""

import json
import shutil
from pathlib import Path

from infra.errors import InfraError
from infra.layout import HOME, INSTALLED, Layout, default_layout
from infra.process import is_alive
from infra.record import cannot_write, only_one, read

MARKER = ".slackwater-state"
"""In a state folder: JSON with the names that were there before it became one."""

DATA = frozenset(
    {
        *("airflow", "audits", "chaos", "docker", "kafka", "logs", "nightly", "page", "prometheus"),
        *("quality", "reports", "runs", "simulated", "spark", "tables", "yarn"),
        *("flight_delays.png", "imported-by-a-log", "stack.json", "stack.json.part", "stack.lock"),
    }
)
"""The names that the platform writes in a state folder; `clean` deletes no others."""

KEPT = frozenset({"benchmarks"})
"""Names that it writes there too, and `clean` keeps: hours of measurements, none of a user's."""


def claim(layout: Layout) -> None:
    """Mark a folder as a state folder, so that it can be cleaned; create it if needed.

    Raises:
        InfraError: something else is in it, or it cannot be written.
    """
    folder = layout.state_dir
    if is_ours(folder):
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        before = {path.name for path in folder.iterdir()}
        if foreign := sorted(before - DATA):
            text = (
                f"{folder} holds {foreign[0]!r}, which is not Slackwater's: let "
                "SLACKWATER_STATE_DIR name a folder that is new or empty"
            )
            raise InfraError(text)
        _mark(folder, [] if _was_used(folder) else sorted(before))
    except OSError as error:
        raise InfraError(cannot_write(folder / MARKER, error)) from error


def is_ours(folder: Path) -> bool:
    """Whether a folder is the checkout's own, or is marked."""
    return folder == HOME or (folder / MARKER).is_file()


def deletable(layout: Layout) -> list[Path]:
    """Return what a clean-up may delete: known names that were not there before.

    Raises:
        InfraError: the folder is not known to be a state folder.
    """
    folder = layout.state_dir
    if not is_ours(folder) and not _was_used(folder):
        text = (
            f"{folder} has no marker of a state folder ({MARKER}): `slackwater up` makes one; if "
            "this is a state folder all the same, delete it yourself"
        )
        raise InfraError(text)
    # The lock is held while the others are deleted.
    names = DATA - _kept(folder) - {"stack.lock"}
    return [folder / name for name in sorted(names)]


def left_over(layout: Layout) -> list[str]:
    """Return the names in a state folder that a clean-up keeps, without the set-up's."""
    quiet = DATA | {MARKER} | (INSTALLED if layout.state_dir == HOME else frozenset())
    found = {path.name for path in layout.state_dir.iterdir()}
    return sorted(found - quiet | (found & _kept(layout.state_dir)))


def _mark(folder: Path, kept: list[str]) -> None:
    text = json.dumps({"format": 1, "kept": kept}) + "\n"
    (folder / MARKER).write_text(text, encoding="utf-8")


def _kept(folder: Path) -> frozenset[str]:
    marker = folder / MARKER
    if not marker.is_file():
        return frozenset()
    try:
        return frozenset(json.loads(marker.read_text(encoding="utf-8"))["kept"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        text = f"{marker} is damaged ({error}): delete what you do not need of {folder} yourself"
        raise InfraError(text) from error


def _was_used(folder: Path) -> bool:
    """Whether a stack ran here before markers existed: its record of ports is there."""
    try:
        found = json.loads((folder / "stack.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and {"ports", "running"} <= found.keys()


def clean(*, layout: Layout | None = None) -> list[str]:
    """Delete the data of a stopped stack: topics, checkpoints, tables, logs.

    Only names that the platform creates, in a folder that `up` has marked; links are not followed.
    Installed software stays.

    Returns:
        Names of other things in the folder, which were left alone.

    Raises:
        InfraError: the stack is still running, or the folder is not a state folder.
    """
    layout = layout or default_layout()
    if not layout.state_dir.exists():
        return []
    deletable(layout)  # not even a lock is put into someone else's folder
    with only_one(layout):
        alive = [name for name, one in read(layout).running.items() if is_alive(one.process)]
        if alive:
            text = f"the stack still runs ({', '.join(alive)}); run `slackwater down` first"
            raise InfraError(text)
        for path in deletable(layout):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        return left_over(layout)
