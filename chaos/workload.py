"""The workload of a run: a pipeline and a topic of its own, so that nobody else's are hurt."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import yaml

from chaos.plan import Workload
from jobs import flights
from jobs.topics import create_topics
from windowing.spec import Pipeline, load_pipeline, parse_pipeline


@dataclass(frozen=True)
class Feed:
    """What is sent to a run's topic, and when.

    Attributes:
        body: the beginning of the log; sent before the job starts.
        reserve: the rest of it but for its ends; sent when a fault wants it, or never begun.
        ends: one per partition; sent after the last fault, since nothing may follow them.
    """

    body: pl.DataFrame
    reserve: pl.DataFrame
    ends: pl.DataFrame


def own_pipeline(
    file: Path, run: str, *, topic: str | None = None, shards: int | None = None
) -> Pipeline:
    """The pipeline of a file under a name, a table and perhaps a topic of a run's own.

    Names decide no row but for the topic's, which dead letters and offsets show.

    Args:
        file: the pipeline file.
        run: what to put behind the pipeline's name.
        topic: another log to read; None: the pipeline's.
        shards: another number of them, which decides no row; None: the pipeline's.

    Raises:
        PipelineError: the file breaks a rule.
    """
    original = load_pipeline(file)
    document = yaml.safe_load(original.text)
    document["name"] = f"{original.name}-{run}"
    document["sink"] = {"table": f"{original.name}-{run}"}
    document.pop("quality", None)
    if topic is not None:
        document["source"]["topic"] = topic
    if shards is not None:
        document["shards"] = shards
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    return parse_pipeline(text, str(file))


def feed(workload: Workload, reserve: int = 0) -> Feed:
    """Cut the flights' log into what comes first, a reserve and its ends.

    Args:
        workload: how much of the log.
        reserve: how many of its records are held back.

    Raises:
        FlightsError: the data set is missing.
    """
    log = flights.flights(workload.flights)
    is_end = pl.col("control").is_not_null()
    data = log.filter(~is_end)
    body = data.height - reserve
    return Feed(body=data.head(body), reserve=data.tail(reserve), ends=log.filter(is_end))


def send_body(pipeline: Pipeline, bootstrap: str, part: Feed) -> int:
    """Make the pipeline's topic and send the body; gives the number of records.

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic exists and is another's.
    """
    create_topics(pipeline, bootstrap)
    topic = pipeline.source.topic
    return flights.publish(bootstrap, topic=topic, log=part.body).records


def send_reserve(
    pipeline: Pipeline, bootstrap: str, part: Feed, partitions: Collection[int]
) -> dict[int, int]:
    """Send what was held back for some partitions; gives the number of records of each.

    Raises:
        BrokerError: no broker answers.
    """
    rows = part.reserve.filter(pl.col("partition").is_in(list(partitions)))
    if rows.height:
        flights.append(bootstrap, pipeline.source.topic, rows)
    return dict(rows.group_by("partition").len().iter_rows())


def send_ends(pipeline: Pipeline, bootstrap: str, part: Feed) -> int:
    """Send the ends; gives their number.

    Raises:
        BrokerError: no broker answers.
    """
    flights.append(bootstrap, pipeline.source.topic, part.ends)
    return part.ends.height
