"""One log, cut into batches of two sizes: which engines produce the same windows for both?"""
