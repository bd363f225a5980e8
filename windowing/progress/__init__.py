"""Generators of progress: one small file each, record in, bound out.

A generator looks at the records of one lane and states, after each, a bound: no record below it is
promised to follow. A lane's progress is the running maximum of the bounds; nothing else in the
runtime knows how disorder is dealt with.
"""

from windowing.progress.slack import slack_bounds

__all__ = ["slack_bounds"]
