"""Files that only their owner can read."""

import os
from pathlib import Path


def write_private(path: Path, text: str) -> str:
    """Write a file that only its owner can read, completely or not at all; return its path."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
    part.replace(path)
    return str(path.absolute())
