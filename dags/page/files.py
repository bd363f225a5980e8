"""The pipeline file of a page: found by the pipeline's name, and read once for each change of it.

Every page asks for its file, and reading one takes up to a second. So the file of one pipeline
costs the pages of others nothing, and its own only after it has changed.
"""

from __future__ import annotations

import threading
from pathlib import Path

from dags.entities import Deployment, may_name, pipeline_files, read_file

Version = tuple[int, int, int]
"""When a file was changed, in nanoseconds since the Unix epoch; its size; its inode."""


class PipelineFiles:
    """The files that were asked for, as they were read last.

    Not for an event loop: it reads files.
    """

    def __init__(self) -> None:
        self._read: dict[Path, tuple[Version, Deployment | None]] = {}
        self._turn = threading.Lock()

    def named(self, root: Path, folder: Path, name: str) -> Deployment | None:
        """Return the deployment of a pipeline; None: no usable file has its name.

        Args:
            root: the checkout; files in it are named relative to it.
        """
        with self._turn:
            files = list(pipeline_files(root, folder))
            for gone in self._read.keys() - {path for path, _ in files}:
                del self._read[gone]
            found = (self._deployment(path, file, name) for path, file in files)
            return next((one for one in found if one is not None and one.name == name), None)

    def _deployment(self, path: Path, file: str, name: str) -> Deployment | None:
        """Return the deployment in a file; None: it is unusable, or cannot be the one asked for."""
        try:
            state = path.stat()
        except OSError:
            return None
        version = (state.st_mtime_ns, state.st_size, state.st_ino)
        known = self._read.get(path)
        if known is None or known[0] != version:
            if not may_name(path, name):
                return None
            found = read_file(path, file)
            known = version, found if isinstance(found, Deployment) else None
            self._read[path] = known
        return known[1]
