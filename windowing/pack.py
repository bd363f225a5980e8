"""Raw rows, under the name that users import: `windowing.engine.input.pack`."""

from windowing.engine.input.pack import RawRows

__all__ = ["RawRows"]
