"""From a pipeline file to a running job: what changed, what to do about it, and doing it."""
