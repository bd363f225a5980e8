"""From a pipeline file to a running job: what changed, what is done about it, and doing it."""
