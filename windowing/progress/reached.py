"""How far lanes have got, and what follows for the stream: the progress that closes windows."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from windowing.wids import ENDED, NOTHING_YET


class Reached(msgspec.Struct, array_like=True):
    """How far one lane has got by one attribute.

    Attributes:
        progress_us: the running maximum of its bounds; `NOTHING_YET` before the first, `ENDED`
            after the lane's end.
        furthest_us: the largest finite progress; unlike `progress_us` it survives the end.
        newest_us: the largest value of any record; `NOTHING_YET` before the first.
    """

    progress_us: int = NOTHING_YET
    furthest_us: int = NOTHING_YET
    newest_us: int = NOTHING_YET

    def merge(self, other: Reached) -> Reached:
        """The further of two reports of the same lane, part by part."""
        return Reached(
            max(self.progress_us, other.progress_us),
            max(self.furthest_us, other.furthest_us),
            max(self.newest_us, other.newest_us),
        )


@dataclass(frozen=True)
class Progress:
    """How far the stream has got by one attribute, as far as one shard was told.

    Attributes:
        lanes: every lane of the source, by partition; those not heard of hold the stream back.
    """

    lanes: tuple[Reached, ...]

    @property
    def stream_us(self) -> int:
        """The progress of the stream: the smallest of its lanes."""
        return min(lane.progress_us for lane in self.lanes)

    @property
    def furthest_us(self) -> int:
        """The largest finite progress that any lane ever had."""
        return max(lane.furthest_us for lane in self.lanes)

    @property
    def newest_us(self) -> int:
        """The largest value of any record of the stream; `NOTHING_YET` before the first."""
        return max(lane.newest_us for lane in self.lanes)

    @property
    def ended(self) -> bool:
        """Whether all lanes have ended."""
        return self.stream_us == ENDED
