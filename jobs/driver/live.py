"""Whether a run whose job works is the live one; asked by the job, which knows its folder alone."""

from __future__ import annotations

import json
from pathlib import Path

from jobs.runs.orders import LIVE_FILE


def is_live(run: Path) -> bool:
    """Whether nobody has named another run of the pipeline.

    Args:
        run: its folder.
    """
    try:
        named = json.loads((run.parent / LIVE_FILE).read_text(encoding="utf-8"))["run"]
    except FileNotFoundError:
        return True
    return bool(named == run.name)
