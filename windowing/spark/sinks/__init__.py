"""Sinks: destinations for the frames of a batch, under one token `(run, batch_id)`."""

from windowing.spark.sinks.memory import MemorySink
from windowing.spark.sinks.postgres import PostgresSink
from windowing.spark.sinks.sink import (
    SINKS,
    RunPlace,
    Sink,
    SinkUnreachable,
    begin_tables,
    reader_of,
    sink,
    sink_of,
)
from windowing.spark.sinks.table import TableSink

__all__ = [
    "SINKS",
    "MemorySink",
    "PostgresSink",
    "RunPlace",
    "Sink",
    "SinkUnreachable",
    "TableSink",
    "begin_tables",
    "reader_of",
    "sink",
    "sink_of",
]
