"""What a custom generator means, for `verify`: it shares no line with the engine's half."""

from collections.abc import Callable

from tidepool.generator import Shuffled
from windowing.semantics.generators import Fields, generator_definition


@generator_definition("shuffled")
def shuffled(data: Shuffled, lane: str) -> Callable[[int, Fields], int | None]:
    """The smallest of the last times, asked after every record of one lane."""
    seen: list[int] = []

    def bound_after(ts_us: int, fields: Fields) -> int:
        seen.append(ts_us)
        return min(seen[-data.rows :])

    return bound_after
