"""`slackwater operators`: which window configurations each operator accepts, counted."""

from __future__ import annotations

from typing import Annotated

import typer

from slackwater.console import say


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(operators)


def operators(
    library: Annotated[
        bool,
        typer.Option(
            "--osstreams", help="Use the published library's rules instead of the paper's."
        ),
    ] = False,
) -> None:
    """List the operators over policy windows, and how many configurations each accepts."""
    from windowing.engine.rows.policies import Profile
    from windowing.model.operators.models import aggregate_windows, join_windows, sort_windows

    profile = Profile.osstreams if library else Profile.paper
    sort = len([*sort_windows(profile)])
    progressive = sort // 4 - 4
    say(f"Aggregate  {len([*aggregate_windows()]):>3}  (4 tumbling + 3 x 3 sliding) x 4")
    say(f"Join       {len([*join_windows()]):>3}  3 x 3 evictions x (1 + 3 x 3)")
    say(f"Sort       {sort:>3}  (4 tumbling + {progressive} sliding by count(1)) x 4")
    say("x 4: not partitioned, or partitioned with one of three kinds of partition eviction.")
    say("Join: neither side partitioned, or both, each with one of the three kinds.")
    say("The paper says 44 of Sort, which neither its text (28) nor the library (20) gives.")
    if profile is Profile.paper:
        kept = [len([*f(kept=True)]) for f in (aggregate_windows, join_windows)]
        kept.append(len([*sort_windows(profile, kept=True)]))
        say(
            "Counting partitions that are never given up as a fifth choice: "
            f"Aggregate {kept[0]}, Join {kept[1]}, Sort {kept[2]}."
        )
