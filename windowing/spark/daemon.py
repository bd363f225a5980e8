"""The daemon from which an executor forks its Python workers, with our libraries loaded.

Loading pandas, polars and pyarrow takes seconds of CPU, and every worker of every executor would
pay them in a job's first batch, and again after every recovery. Forked from here, none does. What
is loaded must start no thread pool before the fork: polars and pyarrow make theirs at first use.
"""

from pyspark.daemon import manager

import windowing.spark.stages  # noqa: F401 - loaded for the workers

if __name__ == "__main__":
    manager()
