"""Where things are: one module for every path that the platform writes to.

Standard library only: the set-up runs before anything is installed.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from infra.errors import InfraError

ROOT = Path(__file__).resolve().parent.parent
"""The folder of the platform's code: the checkout, or `slackwater/_platform` of a package."""

PACKAGED = ROOT.name == "_platform"
"""Whether this is an installed package, not a checkout (infra/adr/0016)."""

HOME = Path(sys.prefix) / "share" / "slackwater" if PACKAGED else ROOT / ".slackwater"
"""The folder for what the set-up installs; in a checkout also the state folder, git-ignored."""

STATE_DIR_VARIABLE = "SLACKWATER_STATE_DIR"
"""Names another state folder than `.slackwater`, so that two stacks can run side by side."""

PIPELINES_VARIABLE = "SLACKWATER_PIPELINES"
"""Names another folder of pipeline files for Airflow than the project's `pipelines`."""

PLANS_VARIABLE = "SLACKWATER_PLANS"
"""Names another folder of chaos plans for Airflow than the checkout's or the project's."""

PYTHON_VARIABLE = "SLACKWATER_PYTHON"
"""Names the folder of the user's own modules, for jobs: those that pipeline files refer to."""

PLUGINS_VARIABLE = "SLACKWATER_PLUGINS"
"""Names the plug-ins of the project's settings, as windowing/model/registry.py reads them."""

IMPORT_VARIABLE = "SLACKWATER_IMPORT_SECONDS"
"""Says how long importing the user's classes may take, in seconds."""

PROJECT_VARIABLE = "SLACKWATER_PROJECT"
"""Names the user's project (infra/project.py); without it, the checkout is the project."""

COMMAND_VARIABLE = "SLACKWATER_COMMAND"
"""Replaces the command that Airflow's tasks call, in the shell's spelling."""

SETUP = "slackwater setup" if PACKAGED else "make setup"
"""The command that installs what the stack needs besides Python packages; for messages."""

PACKAGES = "pip install 'slackwater[platform]'" if PACKAGED else "make setup"
"""The command that installs the Python packages that the platform needs; for messages."""

VENV = Path(sys.prefix) if PACKAGED else ROOT / ".venv"
AIRFLOW_VENV = HOME / "airflow-venv"
FLINK_VENV = HOME / "flink-venv"
MUTANTS_VENV = HOME / "mutants-venv"
UV = HOME / "uv" / "bin" / "uv"
BROKER_JARS = HOME / "jvm" / "broker"
CONNECTOR_JARS = HOME / "jvm" / "spark-connector"
DELTA_JARS = HOME / "jvm" / "delta"
LOCAL_FILES_JARS = HOME / "jvm" / "local-files"
HADOOP_JARS = HOME / "hadoop" / "hadoop"
STAMPS = HOME / "stamps"

INSTALLED = frozenset(
    {"uv", "airflow-venv", "flink-venv", "mutants-venv", "jvm", "hadoop", "stamps", "setup.lock"}
)
"""What the set-up created in HOME: cleaning keeps it."""


@dataclass(frozen=True)
class Layout:
    """The folders of one running stack.

    Attributes:
        state_dir: holds everything that the stack writes: logs, topics, checkpoints.
        pipelines: the pipeline files that Airflow makes DAGs of.
    """

    state_dir: Path
    pipelines: Path = ROOT / "pipelines"

    @property
    def logs(self) -> Path:
        """A log file for each daemon, and for each step of the set-up."""
        return self.state_dir / "logs"

    @property
    def stack_file(self) -> Path:
        """What is running: pids, their start times, ports."""
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
    def yarn(self) -> Path:
        """The settings of YARN and HDFS, their data, and the logs of containers."""
        return self.state_dir / "yarn"

    @property
    def airflow(self) -> Path:
        """AIRFLOW_HOME: its database, its secrets."""
        return self.state_dir / "airflow"

    @property
    def quality(self) -> Path:
        """Great Expectations' project of each pipeline, by the pipeline's name."""
        return self.state_dir / "quality"

    def make_private(self) -> None:
        """Create the data folders, which no other user of this machine may enter."""
        names = (
            *("logs", "kafka", "spark", "yarn", "airflow", "quality", "runs", "tables"),
            # What the page has kept, reports of chaos and verdicts have values of records, too.
            *("page", "prometheus", "audits", "chaos"),
        )
        for folder in (self.state_dir / name for name in names):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)

    def data_docs(self, pipeline: str) -> Path:
        """The folder of a pipeline's Data Docs; its first page is `index.html`."""
        return self.quality / pipeline / "gx" / "uncommitted" / "data_docs" / "local_site"


def project() -> Path:
    """Return the folder whose pipelines, plans and state are used.

    Raises:
        InfraError: the package is installed, and no project was named.
    """
    named = os.environ.get(PROJECT_VARIABLE)
    if named:
        return Path(named).resolve()
    if PACKAGED:
        text = (
            "there is no slackwater.yml here or in a folder above: `slackwater init DIR` makes a "
            "project; go there, or name one with `slackwater --project DIR`"
        )
        raise InfraError(text)
    return ROOT


def default_layout() -> Layout:
    """Return the layout that the environment selects.

    SLACKWATER_STATE_DIR, else `.slackwater` of the project; SLACKWATER_PIPELINES, else its
    `pipelines`.

    Raises:
        InfraError: the environment does not select one, and there is no project.
    """
    state = os.environ.get(STATE_DIR_VARIABLE)
    pipelines = os.environ.get(PIPELINES_VARIABLE)
    return Layout(
        state_dir=Path(state or project() / ".slackwater").resolve(),
        pipelines=Path(pipelines or project() / "pipelines").resolve(),
    )


def pipeline_folders() -> tuple[Path, ...]:
    """List the folders in which to look for a pipeline by its name, the nearest first.

    For a project, or with SLACKWATER_PIPELINES, only that folder; else `pipelines` in the working
    directory, then the checkout's.
    """
    here = Path.cwd() / "pipelines"
    if os.environ.get(PIPELINES_VARIABLE) or os.environ.get(PROJECT_VARIABLE):
        return (default_layout().pipelines,)
    return (here,) if PACKAGED else tuple(dict.fromkeys((here, ROOT / "pipelines")))
