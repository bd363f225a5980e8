"""Windows of one's own: calendar months, which no RANGE and no SLIDE can say."""

from dataclasses import dataclass

from windowing.model.windows.registry import window

HOUR_US = 3_600_000_000


@window("months")
@dataclass(frozen=True)
class Months:
    """What stands under `months:` in a pipeline file.

    Attributes:
        ahead_h: by how many hours the clocks that tell the months are ahead of UTC.
    """

    ahead_h: int = 0

    def __post_init__(self) -> None:
        """Refuse clocks that nobody has."""
        if self.ahead_h not in range(-12, 15):
            raise ValueError(f"ahead_h {self.ahead_h}: clocks are from -12 to 14 hours ahead")

    @property
    def ahead_us(self) -> int:
        """The same in microseconds."""
        return self.ahead_h * HOUR_US
