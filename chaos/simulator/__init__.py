"""The simulator: the real lanes and shards in one process, through thousands of hostile runs.

Everything around them is simulated (log, batches, state files, sink, workers), and every choice is
drawn from a seed: where batches are cut, in which order and how often chunks arrive, what fails
when, what is lost. At the end everything has been delivered, and the sink must hold exactly the
definition's result for the log. A run is a `Case`; the same case gives the same run.
"""
