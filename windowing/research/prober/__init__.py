"""Recover an engine's parameters from outside, by experiments.

`inputs` has the experiments, `hypotheses` what an engine may be, `elimination` what survives the
experiments, `formulas` how the start follows from size, slide and first time, and `probe` asks a
`Box`: anything that runs tuples through one window operator and says what it reported after each.
"""
