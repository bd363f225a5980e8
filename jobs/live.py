"""Which run of a pipeline is live: the one that `live.json` beside the runs names, if it is there.

Without that file it is the run that was submitted last, which ends the others' jobs.
"""

from __future__ import annotations

import json
from pathlib import Path

LIVE_FILE = "live.json"


def named_live(runs: Path) -> str | None:
    """The run that is named live in a pipeline's folder of runs; None: nobody has named one."""
    try:
        return str(json.loads((runs / LIVE_FILE).read_text(encoding="utf-8"))["run"])
    except FileNotFoundError:
        return None


def is_live(run: Path) -> bool:
    """Whether a run whose job works is the live one.

    Args:
        run: its folder.
    """
    return named_live(run.parent) in (None, run.name)
