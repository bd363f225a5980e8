"""Calls spread over a Spark cluster, for work that needs no stream, as `verify --engine spark`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice

from pyspark.sql import SparkSession

from jobs.file_run import own_session


@contextmanager
def cluster(
    name: str, master: str
) -> Iterator[Callable[[Callable[[str, str], str], str, Iterator[str]], Iterator[str]]]:
    """Provide a function that makes calls on a cluster, with arguments as of `spread`.

    Args:
        master: the cluster, as `spark://host:port` or `local[2]`.
    """
    with own_session(name, master=master) as spark:

        def calls(
            function: Callable[[str, str], str], same: str, texts: Iterator[str]
        ) -> Iterator[str]:
            return spread(spark, function, same, texts)

        yield calls


def spread(
    spark: SparkSession,
    function: Callable[[str, str], str],
    same: str,
    texts: Iterator[str],
) -> Iterator[str]:
    """Yield what a function returns for each of many texts, in their order.

    The driver holds two texts per core of the cluster at a time, and their answers.

    Args:
        function: a function that executors can import.
        same: its first argument in all calls.
        texts: its second argument.
    """
    context = spark.sparkContext
    # Spark lets go of it with the session: a reader who stops early would let go too late.
    kept = context.broadcast(same)
    while some := list(islice(texts, 2 * context.defaultParallelism)):
        answers = context.parallelize(some, len(some)).map(lambda text: function(kept.value, text))
        yield from answers.collect()
