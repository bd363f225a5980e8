"""The rooms of the engine, and which tests judge a mutant of each."""

from __future__ import annotations

PRODUCT = ("windowing/engine", "windowing/runtime", "windowing/spark", "windowing/research/slides")
"""The folders of which mutants are drawn."""

_WHOLE = ("tests/unit/engine/test_engine.py", "tests/unit/engine/test_edges.py")
"""What goes through most rooms of the engine."""

ROOMS: dict[str, tuple[str, ...]] = {
    "windowing/engine": (
        "tests/unit/engine/storage/test_state.py",
        "tests/unit/engine/test_parts.py",
        "tests/unit/engine/test_plan.py",
        "tests/unit/engine/test_limits.py",
        "tests/unit/engine/test_refusals.py",
    ),
    "windowing/engine/added.py": (
        "tests/unit/engine/test_added.py",
        "tests/unit/engine/test_added_lanes.py",
    ),
    "windowing/engine/aggregates": (
        "tests/unit/engine/test_aggregates.py",
        "tests/unit/engine/test_all_aggregates.py",
        "tests/unit/engine/test_roll_up.py",
    ),
    "windowing/engine/changes.py": (
        "tests/unit/engine/test_changes.py",
        "tests/unit/engine/test_control.py",
    ),
    "windowing/engine/convert.py": ("tests/unit/engine/test_convert.py",),
    "windowing/engine/early.py": ("tests/unit/engine/test_early.py",),
    "windowing/engine/families": ("tests/unit/engine/test_families.py",),
    "windowing/engine/storage/cold.py": ("tests/unit/engine/storage/test_cold.py",),
    "windowing/engine/storage/formats.py": (
        "tests/unit/engine/storage/test_formats.py",
        "tests/unit/engine/test_schema.py",
    ),
    "windowing/engine/storage/frames.py": ("tests/unit/engine/storage/test_parcel.py",),
    "windowing/engine/fused": ("tests/unit/engine/test_fused.py",),
    "windowing/engine/storage/groups.py": ("tests/unit/engine/storage/test_groups.py",),
    "windowing/engine/reading": (
        "tests/unit/engine/test_rules.py",
        "tests/unit/engine/test_names.py",
        "tests/unit/engine/test_control.py",
        "tests/unit/engine/test_limits.py",
    ),
    "windowing/engine/loops": (
        "tests/unit/engine/test_loops.py",
        "tests/unit/engine/test_fused.py",
    ),
    "windowing/engine/storage/parcel.py": (
        "tests/unit/engine/storage/test_parcel.py",
        "tests/unit/engine/test_pack.py",
    ),
    "windowing/engine/plan.py": ("tests/unit/engine/test_plan.py",),
    "windowing/engine/progress": (
        "tests/unit/engine/test_progress.py",
        "tests/unit/engine/test_control.py",
        "tests/unit/engine/test_limits.py",
    ),
    "windowing/engine/rows": (
        "tests/unit/engine/rows",
        "tests/unit/engine/test_joins.py",
        "tests/unit/conformance/test_spl.py",
        "tests/unit/runtime/standalone",
    ),
    "windowing/engine/shard.py": (
        "tests/unit/engine/test_parts.py",
        "tests/unit/engine/test_sessions.py",
        "tests/unit/engine/test_early.py",
        "tests/unit/engine/storage/test_cold.py",
        "tests/unit/engine/test_limits.py",
        "tests/unit/engine/test_added.py",
    ),
    "windowing/research/slides": (
        "tests/unit/research/slides",
        "tests/unit/conformance/test_gsn_firings.py",
    ),
    "windowing/engine/storage/tables.py": (
        "tests/unit/engine/storage/test_state.py",
        "tests/unit/engine/test_parts.py",
        "tests/unit/engine/storage/test_cold.py",
    ),
    "windowing/engine/wids.py": ("tests/unit/engine/test_wids.py",),
    "windowing/engine/windows": (
        "tests/unit/engine/test_sessions.py",
        "tests/unit/engine/test_joins.py",
        "tests/unit/engine/test_classes.py",
        "tests/unit/engine/test_parts.py",
        "tests/unit/engine/test_plan.py",
    ),
    "windowing/runtime": ("tests/unit/runtime",),
    # What starts Spark is not of tier 1: simulated runs go through its stages and its store.
    "windowing/spark": (
        "tests/unit/spark",
        "tests/unit/engine/test_plan.py",
        "tests/unit/jobs/checkpoints/test_conversion.py",
        "tests/unit/chaos/simulator/test_tables.py",
    ),
    "windowing/spark/flat_rows.py": ("tests/unit/sinks/test_flat_rows.py",),
    "windowing/spark/sinks": ("tests/unit/sinks",),
}
"""Files and folders of tests by room; of several, the longest name decides."""


def judges_of(file: str) -> tuple[str, ...]:
    """Return what judges mutants of a file: the tests of its room, then what crosses all rooms."""
    room = max((name for name in ROOMS if file == name or file.startswith(f"{name}/")), key=len)
    return (*ROOMS[room], *(test for test in _WHOLE if test not in ROOMS[room]))
