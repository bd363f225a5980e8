"""Live engines as boxes for the prober: Spark's `window()`, Flink's SQL windows, and our own.

Each runs inputs in order through one window operator without keys whose rows hold the ids of their
tuples, and says after which tuple each row came. `engines` lists them.
"""
