"""What a policy window refuses."""

from __future__ import annotations


class WindowError(ValueError):
    """A configuration that no window can have, or a call that the configuration forbids."""
