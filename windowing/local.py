"""The local engine, under the name that users import: `windowing.runtime.local`."""

from windowing.runtime.local import Output, run

__all__ = ["Output", "run"]
