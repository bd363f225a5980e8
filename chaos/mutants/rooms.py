"""The rooms of the engine, and which tests judge a mutant of each."""

from __future__ import annotations

PRODUCT = ("windowing/engine", "windowing/runtime", "windowing/spark")
"""The folders of which mutants are drawn."""

_WHOLE = ("tests/engine/test_engine.py", "tests/engine/test_edges.py")
"""What goes through most rooms of the engine."""

ROOMS: dict[str, tuple[str, ...]] = {
    "windowing/engine": (
        "tests/engine/test_state.py",
        "tests/engine/test_parts.py",
        "tests/engine/test_plan.py",
        "tests/engine/test_limits.py",
        "tests/engine/test_refusals.py",
    ),
    "windowing/engine/added.py": (
        "tests/engine/test_added.py",
        "tests/engine/test_joined_lanes.py",
    ),
    "windowing/engine/aggregates": (
        "tests/engine/test_aggregates.py",
        "tests/engine/test_all_aggregates.py",
        "tests/engine/test_roll_up.py",
    ),
    "windowing/engine/changes.py": ("tests/engine/test_changes.py", "tests/engine/test_control.py"),
    "windowing/engine/convert.py": ("tests/engine/test_convert.py",),
    "windowing/engine/early.py": ("tests/engine/test_early.py",),
    "windowing/engine/families": ("tests/engine/families",),
    "windowing/engine/far.py": ("tests/engine/test_far.py",),
    "windowing/engine/formats.py": ("tests/engine/test_formats.py", "tests/engine/test_schema.py"),
    "windowing/engine/frames.py": ("tests/engine/test_frames.py",),
    "windowing/engine/fused": ("tests/engine/fused",),
    "windowing/engine/groups.py": ("tests/engine/test_groups.py",),
    "windowing/engine/input": (
        "tests/engine/test_rules.py",
        "tests/engine/test_names.py",
        "tests/engine/test_control.py",
        "tests/engine/test_limits.py",
    ),
    "windowing/engine/loops": ("tests/engine/loops", "tests/engine/fused"),
    "windowing/engine/parcel.py": ("tests/engine/test_routes.py", "tests/engine/test_pack.py"),
    "windowing/engine/plan.py": ("tests/engine/test_plan.py",),
    "windowing/engine/progress": (
        "tests/engine/test_progress.py",
        "tests/engine/test_control.py",
        "tests/engine/test_limits.py",
    ),
    "windowing/engine/rows": ("tests/engine/rows", "tests/runtime/standalone"),
    "windowing/engine/slides": ("tests/engine/slides",),
    "windowing/engine/wids.py": ("tests/engine/test_wids.py",),
    "windowing/engine/windows": (
        "tests/engine/test_sessions.py",
        "tests/engine/test_joins.py",
        "tests/engine/test_classes.py",
        "tests/engine/test_parts.py",
    ),
    "windowing/runtime": ("tests/runtime",),
    # What starts Spark is not of tier 1: simulated runs go through its stages and its store.
    "windowing/spark": (
        "tests/engine/test_plan.py",
        "tests/jobs/checkpoints/test_conversion.py",
        "tests/chaos/simulator/test_tables.py",
    ),
    "windowing/spark/flat_rows.py": ("tests/sinks/test_flat_rows.py",),
    "windowing/spark/sinks": ("tests/sinks",),
}
"""Files and folders of tests by room; of several, the longest name decides."""


def judges_of(file: str) -> tuple[str, ...]:
    """Return what judges mutants of a file: the tests of its room, then what crosses all rooms."""
    room = max((name for name in ROOMS if file == name or file.startswith(f"{name}/")), key=len)
    return (*ROOMS[room], *(test for test in _WHOLE if test not in ROOMS[room]))
