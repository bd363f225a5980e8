"""Facts: what decides a result, by names that are a format and follow no class and no attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Fact = bool | int | float | str | None | Sequence["Fact"] | Mapping[str, "Fact"]
"""What JSON can spell. A mapping has no order; where order has a meaning, it is a list."""

Facts = dict[str, Fact]
