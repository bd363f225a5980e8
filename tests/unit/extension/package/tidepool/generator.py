"""A custom generator: records come in shuffled groups of a known size."""

from dataclasses import dataclass

from windowing.model.progress import generator


@generator("shuffled")
@dataclass(frozen=True)
class Shuffled:
    """After a record, none is older than the oldest of the last `rows` records."""

    rows: int

    @classmethod
    def parse(cls, settings: object) -> "Shuffled":
        """Read the number of rows."""
        if type(settings) is not int or settings < 1:
            raise ValueError(f"{settings!r} is no number of rows: write {{shuffled: 4}}")
        return cls(settings)
