"""The roll of the guilty: every module beside this one that plants a defect."""

from __future__ import annotations

from chaos.guilty import (
    at_least_once_sink,
    chunk_applied_twice,
    closes_after_end,
    commit_before_sink,
    dead_letters_once_lost,
    epoch_by_wall_order,
    float_sum_in_order,
    late_in_revision_0,
    no_late_epochs,
    offset_not_persisted,
    offsets_not_logged,
    poison_takes_neighbours,
    progress_not_persisted,
    quickest_lane_decides,
    reused_identity,
    silent_lane_ignored,
    skipped_corrupt_delta,
    stale_state,
    stream_progress_lateness,
    stream_progress_retention,
    token_before_rows,
    token_per_attempt,
)
from chaos.guilty.guilt import Guilty

_MODULES = (
    at_least_once_sink,
    token_per_attempt,
    token_before_rows,
    commit_before_sink,
    offsets_not_logged,
    dead_letters_once_lost,
    skipped_corrupt_delta,
    stale_state,
    stream_progress_lateness,
    stream_progress_retention,
    float_sum_in_order,
    late_in_revision_0,
    no_late_epochs,
    epoch_by_wall_order,
    reused_identity,
    progress_not_persisted,
    offset_not_persisted,
    chunk_applied_twice,
    poison_takes_neighbours,
    closes_after_end,
    silent_lane_ignored,
    quickest_lane_decides,
)

GUILTY: dict[str, Guilty] = {module.GUILTY.name: module.GUILTY for module in _MODULES}
"""All guilty engines by name."""
