"""Check a checkpoint before Spark opens it: are the entries that a restart needs readable?

Spark resumes from the newest plan that it finds. If the plan of a committed batch is lost, it would
plan another batch under the same number, and the tables, which already have that number, would skip
its rows. So this is checked before anything runs.
"""

from __future__ import annotations

import json
from pathlib import Path

from jobs.checkpoints.mend import newest
from windowing.model.run_errors import CheckpointDamaged


def examine(checkpoint: Path) -> None:
    """Check that the newest entries of the offset log exist and are readable.

    Args:
        checkpoint: the checkpoint of a job that is not running; may not exist yet.

    Raises:
        CheckpointDamaged: one is not; names it and the remedy.
    """
    committed, planned = newest(checkpoint / "commits"), newest(checkpoint / "offsets")
    for batch in sorted({committed, max(committed, planned)} - {-1}):
        _read_plan(checkpoint / "offsets" / str(batch))


def _read_plan(path: Path) -> None:
    # Restoring this file alone is enough; an older checkpoint as a whole must be compared with
    # the tables, which `jobs.checkpoints.agreement` does at the next start.
    cure = "put this very file back, or the checkpoint as a whole, or start a new run to replay"
    try:
        head, *_, ends = path.read_text(encoding="utf-8").splitlines()
        if head != "v1" or not isinstance(json.loads(ends), dict):
            raise ValueError(head)
    except FileNotFoundError:
        msg = f"the plan {path} of a committed batch is missing: {cure}"
        raise CheckpointDamaged(msg) from None
    except ValueError as error:
        msg = f"the plan {path} cannot be read ({type(error).__name__}): {cure}"
        raise CheckpointDamaged(msg) from None
