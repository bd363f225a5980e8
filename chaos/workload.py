"""The workload of a run: a pipeline and a topic of its own, so that nobody else's are hurt."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import yaml

from chaos.plan import Workload
from jobs import flights, weather
from jobs.topics import create_topics
from windowing.spec import Pipeline, load_pipeline, parse_pipeline

_KEPT_OF_NAME = 120


@dataclass(frozen=True)
class Feed:
    """What is sent to a run's topics, and when; `part` tells which of the source's topics.

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
        topic: another log to read; None: the pipeline's. For a join: what its topics' names begin
            with.
        shards: another number of them, which decides no row; None: the pipeline's.

    Raises:
        PipelineError: the file breaks a rule.
    """
    original = load_pipeline(file)
    document = yaml.safe_load(original.text)
    # A name has a longest length, and this one is to grow.
    document["name"] = f"{original.name[:_KEPT_OF_NAME]}-{run}"
    document["sink"] = {"table": document["name"]}
    document.pop("quality", None)
    if topic is not None and original.join is None:
        document["source"]["topic"] = topic
    elif topic is not None:
        for side in ("left", "right"):
            source = document["join"][side]["source"]
            source["topic"] = f"{topic}-{source['topic']}"
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
    log = _log(workload)
    is_end = pl.col("control").is_not_null()
    data = log.filter(~is_end)
    body = data.height - reserve
    return Feed(body=data.head(body), reserve=data.tail(reserve), ends=log.filter(is_end))


def _log(workload: Workload) -> pl.DataFrame:
    """The records of all topics, with the number of their `part`."""
    if workload.data == "flights":
        return flights.flights(workload.flights).with_columns(part=pl.lit(0))
    numbered = enumerate(weather.logs(workload.flights).values())
    logs = [log.with_columns(part=pl.lit(number)) for number, log in numbered]
    return pl.concat(logs).sort("append_us", maintain_order=True)


def send_body(pipeline: Pipeline, bootstrap: str, part: Feed) -> int:
    """Make the pipeline's topics and send the body; gives the number of records.

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic exists and is another's.
    """
    create_topics(pipeline, bootstrap)
    return sum(
        flights.publish(bootstrap, topic=topic, log=rows).records
        for topic, rows in _by_topic(pipeline, part.body)
    )


def send_reserve(
    pipeline: Pipeline, bootstrap: str, part: Feed, partitions: Collection[int]
) -> dict[int, int]:
    """Send what was held back for some partitions; gives the number of records of each.

    Raises:
        BrokerError: no broker answers.
    """
    rows = part.reserve.filter(pl.col("partition").is_in(list(partitions)))
    for topic, own in _by_topic(pipeline, rows):
        flights.append(bootstrap, topic, own)
    return dict(rows.group_by("partition").len().iter_rows())


def send_ends(pipeline: Pipeline, bootstrap: str, part: Feed) -> int:
    """Send the ends; gives their number.

    Raises:
        BrokerError: no broker answers.
    """
    sent = 0
    for topic, rows in _by_topic(pipeline, part.ends):
        flights.append(bootstrap, topic, rows)
        sent += rows.height
    return sent


def _by_topic(pipeline: Pipeline, rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """The rows of each topic that the pipeline reads; of others, none are sent."""
    for number, source in enumerate(pipeline.source.parts):
        own = rows.filter(part=number)
        if own.height:
            yield source.topic, own.drop("part")
