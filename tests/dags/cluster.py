"""What the stand-ins of the command and of the Spark master share."""

import json
from pathlib import Path


class Cluster:
    """What the two stand-ins – the command and the master's REST server – work on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def script(self, **what: object) -> None:
        """Says what shall go wrong; replaces what was said before."""
        (self.folder / "script.json").write_text(json.dumps(what))

    def calls(self, verb: str | None = None) -> list[dict]:
        """The calls of the command, oldest first."""
        file = self.folder / "calls.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        calls = [json.loads(line) for line in lines]
        return [call for call in calls if verb in (None, call["arguments"][0])]

    def jobs(self) -> dict[str, dict]:
        """The jobs that were ever submitted."""
        return {
            file.stem: json.loads(file.read_text())
            for file in sorted((self.folder / "jobs").glob("*.json"))
        }

    def set_state(self, job: str, state: str) -> None:
        """Changes a job's state, as the cluster would."""
        (self.folder / "jobs" / f"{job}.json").write_text(
            json.dumps(self.jobs()[job] | {"state": state})
        )
