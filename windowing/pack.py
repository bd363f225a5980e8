"""Raw rows, under the name that users import: `windowing.engine.reading.pack`."""

from windowing.engine.reading.pack import RawRows

__all__ = ["RawRows"]
