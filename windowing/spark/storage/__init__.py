"""Storage on Spark: state in its store, copies beside the workers, keys of its tasks."""
