"""A sink of one's own: files of lines for each batch, and its token, written last."""

import json

from windowing.model.rows import dead_letter_line, row_line
from windowing.runtime.output import Emitted
from windowing.runtime.token import Kept, Tables, admit
from windowing.spark.sinks import MemorySink, RunPlace, sink
from windowing.spark.sinks.tokens import token_of_batch, token_rows, tokens_of


@sink("lines")
class LinesSink:
    """Writes RUN/BATCH.jsonl, .dead.jsonl and .token; what has no token is written again."""

    def __init__(self, place: RunPlace) -> None:
        self._place, self._folder = place, place.folder / place.run
        self._folder.mkdir(parents=True, exist_ok=True)

    open = classmethod(lambda cls, place: cls(place))
    clashes = additions = classmethod(lambda cls, pipeline, name, folder_of: [])
    newest = classmethod(lambda cls, pipeline: f"{pipeline.name} writes files of lines")

    def write(self, batch, batch_id):
        frames = [Emitted(kind, query, bytes(data)) for kind, query, data in batch.collect()]
        self.take(frames, batch_id)

    def take(self, frames, batch_id):
        run, pipeline = self._place, self._place.pipeline
        held = self.kept(pipeline, run.folder, run.run).tokens
        token = token_of_batch(pipeline, frames, batch_id, run.token_of)
        admit(token, held, str(self._folder))  # the next batch, or one that is here
        if batch_id not in held:
            memory = MemorySink(pipeline, run.token_of)
            memory.take(frames, batch_id)
            self._put(f"{batch_id}.jsonl", map(row_line, memory.output.rows))
            self._put(f"{batch_id}.dead.jsonl", map(dead_letter_line, memory.output.dead_letters))
            self._put(f"{batch_id}.token", [json.dumps(token_rows(run.run, token).to_pylist())])

    def _put(self, name, lines):
        (self._folder / name).write_text("".join(f"{line}\n" for line in lines))

    @classmethod
    def kept(cls, pipeline, folder, run, since=0):
        written = (json.loads(file.read_text()) for file in (folder / run).glob("*.token"))
        tokens = tokens_of(row for rows in written for row in rows if row["batch_id"] >= since)
        return Tables(str(folder), tokens, {"lines": Kept(max(tokens, default=None))})
