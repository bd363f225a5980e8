"""Runs several jobs in one Spark session, one after the other: `-m tests.spark.several_jobs JSON`.

JSON is a list of argument lists of `jobs.pipeline`. Says where the page of the session is, and
keeps it until its standard input ends.
"""

import json
import sys

from jobs import pipeline
from jobs.session import session


def main(jobs: list[list[str]]) -> None:
    spark = session("slackwater several")
    for arguments in jobs:
        pipeline.main(arguments)
    sys.stdout.write(f"page {spark.sparkContext.uiWebUrl}\n")
    sys.stdout.flush()
    sys.stdin.read()
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
