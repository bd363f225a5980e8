"""`slackwater operators`: which window configurations each operator accepts, counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.console import say

if TYPE_CHECKING:
    from windowing.model.windows.policy import Profile


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
    from windowing.model.windows.policy import Profile

    profile = Profile.osstreams if library else Profile.paper
    counts, kept = _counts(profile, kept=False), _counts(profile, kept=True)
    sliding = counts["Sort"] // 4 - 4
    arithmetic = {
        "Aggregate": "(4 tumbling + 3 x 3 sliding) x 4",
        "Join": "3 x 3 evictions of both sides x (1 + 3 x 3)",
        "Sort": f"(4 tumbling + {sliding} sliding by count(1)) x 4",
        "Dedup": "3 sliding by count(1) x 4",
        "a user's": "(4 tumbling + 3 x 3 sliding) x 4, as Aggregate",
    }
    say("operator   windows  arithmetic")
    for name, how in arithmetic.items():
        say(f"{name:<9}  {counts[name]:>7}  {how}")
    say("Evictions: count, delta, time, and for tumbling windows punctuations. Triggers: count,")
    say("delta, time. x 4: not partitioned, or partitioned with one of three kinds of partition")
    say("eviction; of Join, neither side, or both with one of the three kinds each.")
    say("Partitions that are never evicted as a fifth choice, which the paper does not count:")
    say(", ".join(f"{name} {count}" for name, count in kept.items()) + ".")
    say("The paper gives 52 for Aggregate, 90 for Join, and 44 for Sort. 44 = 11 x 4 would need 11")
    say("pairs of eviction and trigger; the text names 7 (28 windows), the library has 5 (20).")


def _counts(profile: Profile, *, kept: bool) -> dict[str, int]:
    """Return the number of windows of each operator.

    Args:
        profile: the rules to follow.
        kept: count partitions that are never evicted as a separate kind.
    """
    from windowing.model.operators.models import (
        aggregate_windows,
        dedup_windows,
        join_windows,
        sort_windows,
    )

    any_window = len([*aggregate_windows(kept=kept)])
    return {
        "Aggregate": any_window,
        "Join": len([*join_windows(kept=kept)]),
        "Sort": len([*sort_windows(profile, kept=kept)]),
        "Dedup": len([*dedup_windows(kept=kept)]),
        "a user's": any_window,
    }
