"""Where things lie: one place for every path that the platform writes to.

Standard library only: the set-up runs before anything is installed.
"""

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The checkout."""

HOME = ROOT / ".slackwater"
"""The git-ignored folder of everything that is not source, apart from `.venv`."""

STATE_DIR_VARIABLE = "SLACKWATER_STATE_DIR"
"""Names another state folder than `.slackwater`, so that two stacks can run side by side."""

PIPELINES_VARIABLE = "SLACKWATER_PIPELINES"
"""Names another folder of pipeline files for Airflow than the checkout's `pipelines`."""

VENV = ROOT / ".venv"
AIRFLOW_VENV = HOME / "airflow-venv"
UV = HOME / "uv" / "bin" / "uv"
BROKER_JARS = HOME / "jvm" / "broker"
CONNECTOR_JARS = HOME / "jvm" / "spark-connector"
STAMPS = HOME / "stamps"

INSTALLED = frozenset({"uv", "airflow-venv", "jvm", "stamps", "setup.lock"})
"""What the set-up made inside HOME: cleaning the data leaves it alone."""


@dataclass(frozen=True)
class Layout:
    """The folders of one running stack.

    Attributes:
        state_dir: everything that the stack writes lies below it: logs, topics, checkpoints.
        pipelines: the pipeline files that Airflow makes DAGs of.
    """

    state_dir: Path
    pipelines: Path = ROOT / "pipelines"

    @property
    def logs(self) -> Path:
        """One log file for each daemon, and one for each step of the set-up."""
        return self.state_dir / "logs"

    @property
    def stack_file(self) -> Path:
        """What runs: pids, their start times, ports."""
        return self.state_dir / "stack.json"

    @property
    def kafka(self) -> Path:
        """The broker's configuration and its log segments."""
        return self.state_dir / "kafka"

    @property
    def spark(self) -> Path:
        """Spark's configuration, and the work folders of its workers."""
        return self.state_dir / "spark"

    @property
    def airflow(self) -> Path:
        """AIRFLOW_HOME: its database, its secrets."""
        return self.state_dir / "airflow"

    @property
    def quality(self) -> Path:
        """Great Expectations' project of each pipeline, by the pipeline's name."""
        return self.state_dir / "quality"

    def make_private(self) -> None:
        """Makes the folders of data, which nobody else on this machine may enter."""
        names = ("logs", "kafka", "spark", "airflow", "quality", "runs", "tables")
        for folder in (self.state_dir / name for name in names):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)

    def data_docs(self, pipeline: str) -> Path:
        """The folder of a pipeline's Data Docs; its first page is `index.html`."""
        return self.quality / pipeline / "gx" / "uncommitted" / "data_docs" / "local_site"


def default_layout() -> Layout:
    """Gives the layout that the environment asks for.

    SLACKWATER_STATE_DIR, else `.slackwater`; SLACKWATER_PIPELINES, else `pipelines`.
    """
    return Layout(
        state_dir=Path(os.environ.get(STATE_DIR_VARIABLE) or HOME).resolve(),
        pipelines=Path(os.environ.get(PIPELINES_VARIABLE) or ROOT / "pipelines").resolve(),
    )
