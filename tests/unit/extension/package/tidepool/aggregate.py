"""A custom aggregate: a class, as `python:module:Class` takes one, under a name."""


class TidalRange:
    """How far the highest level lies above the lowest: `tidal_range(level)`."""

    returns = "float"  # of 64-bit integers, it may need a bit more

    def init(self):
        """No level yet."""
        return

    def update(self, state, level):
        """One level more."""
        return self.merge(state, [level, level])

    def merge(self, left, right):
        """The levels of both."""
        if left is None or right is None:
            return right if left is None else left
        return [min(left[0], right[0]), max(left[1], right[1])]

    def result(self, state):
        """The range; of no level there is none."""
        return None if state is None else state[1] - state[0]
