"""The simulator: the real lanes and shards in one process, through thousands of hostile runs.

Everything around them is simulated – log, batches, state files, sink, workers – and every choice is
drawn from a seed: where batches are cut, in which order chunks arrive and how often, who dies when,
what is lost. In the end everything has been delivered, and the sink must hold exactly what the
definition makes of the log. A run is a `Case`; the same case gives the same run.
"""
