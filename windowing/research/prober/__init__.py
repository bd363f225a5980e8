"""Recover an engine's parameters from outside, by experiments.

`experiments` has the inputs and the `Box`: anything that runs tuples through one window operator
and says what it reported after each. `hypotheses` has what an engine may be, how its start follows
from size, slide and first time, and what survives the experiments; `probe` asks a box.
"""
