"""Slackwater's windowing runtime: a window's result is a pure function of the log.

Read it in the order of one record's way: `spec` (what a pipeline is), `pack` (bytes to columns),
`lane` (order, progress, lateness), `shard` (windows, epochs, revisions), `local` and `spark`
(the two engines that drive lanes and shards), and beside them `semantics` (the definition that
they are checked against).
"""
