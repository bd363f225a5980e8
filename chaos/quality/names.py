"""Names of the expectations made for windows."""

from __future__ import annotations

from typing import Final

WINDOW_SET: Final = "expect_window_set_to_match_definition"
REVISIONS: Final = "expect_revisions_to_rise_without_holes"
CONSERVED: Final = "expect_records_to_be_conserved"
FEW_DEAD: Final = "expect_dead_records_to_be_few"
FEW_LATE: Final = "expect_late_records_to_be_few"
COMPLETE: Final = "expect_windows_to_be_complete"
FRESH: Final = "expect_newest_window_to_be_fresh"
FEW_REVISED: Final = "expect_revisions_to_be_few"
STEADY: Final = "expect_window_values_to_be_steady"

OF_COUNTS: Final = (CONSERVED, FEW_DEAD, FEW_LATE)
"""Expectations that judge the accounting of records, not rows."""

OF_REVISIONS: Final = (REVISIONS, FEW_REVISED)
"""Expectations that judge all revisions of each window."""
