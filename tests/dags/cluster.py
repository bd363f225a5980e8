"""What the stand-ins of the command and of the Spark master share."""

import json
from pathlib import Path
from types import SimpleNamespace


class Cluster:
    """What the two stand-ins – the command and the master's REST server – work on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def script(self, pipeline: str = "", **what: object) -> None:
        """Says what shall go wrong, for one pipeline or all; replaces what was said before."""
        name = f"script.{pipeline}.json" if pipeline else "script.json"
        (self.folder / name).write_text(json.dumps(what))

    def calls(self, verb: str | None = None) -> list[dict]:
        """The calls of the command, oldest first."""
        file = self.folder / "calls.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        calls = [json.loads(line) for line in lines]
        return [call for call in calls if verb in (None, call["arguments"][0])]

    def clock(self, seconds: float) -> SimpleNamespace:
        """A `time` in which each call of the command takes so long, however busy the machine is."""
        return SimpleNamespace(time=lambda: seconds * len(self.calls()))

    def jobs(self) -> dict[str, dict]:
        """The jobs that were ever submitted."""
        return {
            file.stem: json.loads(file.read_text())
            for file in sorted((self.folder / "jobs").glob("*.json"))
        }

    def drivers(self, pipeline: str) -> dict[str, str]:
        """The state of the last driver of each run of a pipeline."""
        notes = sorted((self.folder / "runs" / pipeline).glob("*/run"))
        jobs = self.jobs()
        return {
            note.parent.name: jobs[json.loads(note.read_text())["job"]]["state"] for note in notes
        }

    def driver(self, pipeline: str, run: str) -> str:
        """The name of the last driver of a run."""
        return json.loads((self.folder / "runs" / pipeline / run / "run").read_text())["job"]

    def set_state(self, job: str, state: str) -> None:
        """Changes a job's state, as the cluster would."""
        (self.folder / "jobs" / f"{job}.json").write_text(
            json.dumps(self.jobs()[job] | {"state": state})
        )
