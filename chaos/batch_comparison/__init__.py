"""One log, cut into batches in two ways: which engines give the same windows, and which do not."""
