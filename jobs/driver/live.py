"""Whether a running job's run is the live one; the job itself only knows its folder."""

from __future__ import annotations

import json
from pathlib import Path

from jobs.runs.orders import LIVE_FILE


def is_live(run: Path) -> bool:
    """Whether no other run of the pipeline is the live one.

    Args:
        run: its folder.
    """
    try:
        named = json.loads((run.parent / LIVE_FILE).read_text(encoding="utf-8"))["run"]
    except FileNotFoundError:
        return True
    return bool(named == run.name)
