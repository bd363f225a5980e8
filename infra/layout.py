"""Where things lie: one place for every path that the platform writes to.

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
"""Whether this is an installed package and no checkout (infra/adr/0016)."""

HOME = Path(sys.prefix) / "share" / "slackwater" if PACKAGED else ROOT / ".slackwater"
"""The folder of what the set-up installs; in a checkout, git-ignored and the state folder, too."""

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

PROJECT_VARIABLE = "SLACKWATER_PROJECT"
"""Names the user's project (infra/project.py); without it, the checkout is the project."""

COMMAND_VARIABLE = "SLACKWATER_COMMAND"
"""Replaces the command that Airflow's tasks call, in the shell's spelling."""

SETUP = "slackwater setup" if PACKAGED else "make setup"
"""What installs what the stack needs beside Python packages; for messages."""

PACKAGES = "pip install 'slackwater[platform]'" if PACKAGED else "make setup"
"""What installs the Python packages that the platform needs; for messages."""

VENV = Path(sys.prefix) if PACKAGED else ROOT / ".venv"
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


def project() -> Path:
    """The folder whose pipelines, plans and state are meant.

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
    """Gives the layout that the environment asks for.

    SLACKWATER_STATE_DIR, else `.slackwater` of the project; SLACKWATER_PIPELINES, else its
    `pipelines`.

    Raises:
        InfraError: the environment does not say it, and there is no project.
    """
    state = os.environ.get(STATE_DIR_VARIABLE)
    pipelines = os.environ.get(PIPELINES_VARIABLE)
    return Layout(
        state_dir=Path(state or project() / ".slackwater").resolve(),
        pipelines=Path(pipelines or project() / "pipelines").resolve(),
    )


def pipeline_folders() -> tuple[Path, ...]:
    """Where a pipeline that is called by its name alone is looked for, the nearest first.

    Of a project, or where SLACKWATER_PIPELINES says it, that folder only. Else nobody chose one:
    `pipelines` where one stands, and then the checkout's.
    """
    here = Path.cwd() / "pipelines"
    if os.environ.get(PIPELINES_VARIABLE) or os.environ.get(PROJECT_VARIABLE):
        return (default_layout().pipelines,)
    return (here,) if PACKAGED else tuple(dict.fromkeys((here, ROOT / "pipelines")))
