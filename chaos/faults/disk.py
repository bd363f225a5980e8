"""A full disk under the checkpoint."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from chaos.errors import Unsupported
from chaos.faults.fault import FaultContext
from chaos.faults.kind import STANDALONE, fault
from chaos.faults.stopped_job import Harm, WhileStopped

_SPARE_BYTES = 16 << 10
_ROOM_BYTES = 1 << 20
_PAGE = 4096
_FILLER = "filler"


@fault("fill_disk", back_s=87, ends="cure", stacks=STANDALONE)
@dataclass
class FillDisk(WhileStopped):
    """A nearly full file system under the checkpoint.

    The job must report that no space is left, and where. Once there is space it must resume,
    although files may have been cut off in the middle.
    """

    _moved: Path | None = field(default=None, init=False)

    def inject(self, context: FaultContext) -> str:
        """Say how much the job has left once it has stopped.

        Raises:
            Unsupported: nothing can be mounted on this host.
        """
        if refusal := context.nodes.mount_refusal(context.checkpoint.parent):
            raise Unsupported(refusal)
        left = super().inject(context)
        return f"{shutil.disk_usage(context.checkpoint).free} {left}; the job stopped"

    def harm(self, context: FaultContext) -> Harm:
        """Move the checkpoint to a small tmpfs."""
        place = context.checkpoint
        self._moved = place.rename(place.with_name("checkpoint-moved"))
        place.mkdir()
        bytes_ = _used(self._moved) + _ROOM_BYTES
        _mount("mount", "-t", "tmpfs", "-o", f"size={bytes_}", "tmpfs", str(place))
        shutil.copytree(self._moved, place, dirs_exist_ok=True)
        # Leave less than the smallest batch writes, however much is there already.
        (place / _FILLER).write_bytes(bytes(shutil.disk_usage(place).free - _SPARE_BYTES))
        return Harm(
            wanted=("No space left on device", str(place)),
            evidence="bytes are left for the checkpoint",
            unnoticed=f"the job went on with {_SPARE_BYTES} bytes left for its checkpoint",
        )

    def undo(self, context: FaultContext) -> str:
        """Move the checkpoint back to the disk."""
        if self._moved is not None:
            context.stop_job()
            _bring_back(context.checkpoint, self._moved)
            self._moved = None
        return "space made"


def _bring_back(place: Path, moved: Path) -> None:
    """Copy the content of the tmpfs back to the disk, and unmount the tmpfs."""
    if os.path.ismount(place):
        (place / _FILLER).unlink(missing_ok=True)
        shutil.rmtree(moved)
        shutil.copytree(place, moved)
        _mount("umount", "--lazy", str(place))
    place.rmdir()
    moved.rename(place)


def _used(folder: Path) -> int:
    """Return the bytes that a tmpfs needs for a folder, in whole pages."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    folders = sum(1 for path in folder.rglob("*") if path.is_dir())
    return sum(-(-size // _PAGE) for size in sizes) * _PAGE + (folders + 1) * _PAGE


def _mount(*command: str) -> None:
    """Run a mount or umount command.

    Raises:
        Unsupported: the command is missing or refused on this host.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        msg = f"this machine has no `{command[0]}`"
        raise Unsupported(msg) from error
    if done.returncode != 0:
        msg = f"`{command[0]}` is refused here: {done.stderr.strip()}"
        raise Unsupported(msg)
