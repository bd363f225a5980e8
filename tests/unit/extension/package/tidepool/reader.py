"""A custom reader, for `verify`: it shares nothing with the sink but the format."""

from pathlib import Path

from chaos.readers.output import Output, OutputError, read_files
from chaos.readers.reader import reader
from windowing.model import Pipeline


@reader("lines")
def read_lines(pipeline: Pipeline, folder: Path | None, run: str | None) -> Output:
    """Read the files of a run, batch by batch."""
    place = Path(folder or ".") / (run or "")
    batches = sorted(int(file.stem) for file in place.glob("*.token"))
    if not batches:
        raise OutputError(f"{place}: no batch of pipeline {pipeline.name} is here")
    found = [read_files(place / f"{batch}.jsonl") for batch in batches]
    rows = [line for one in found for line in one.rows]
    dead = [line for one in found for line in one.dead]
    return Output(rows, dead, counts=None, ordered=False, name=str(place))
