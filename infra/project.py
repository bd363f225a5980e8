"""The user's project: a folder with `slackwater.yml`, pipelines and plans.

Its settings reach every part of the platform, and its daemons, through the environment
(infra/layout.py); variables that are already set take precedence.

    pipelines: pipelines          # all keys may be left out; paths are meant from the file's folder
    plans: plans
    python: src                   # modules of your own, for `python:module:Class` in pipeline files
    state: .slackwater
    kafka: kafka.yml              # a cluster of your own (docs/kafka.md); else the local stack's
    import_seconds: 60            # how long importing your classes may take
    plugins:                      # faults, checks, sinks, windows of your own (docs/extending.md)
      faults: {slow_disk: mine.faults:SlowDisk}
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from infra.errors import SettingsError
from infra.layout import (
    IMPORT_VARIABLE,
    PIPELINES_VARIABLE,
    PLANS_VARIABLE,
    PLUGINS_VARIABLE,
    PROJECT_VARIABLE,
    PYTHON_VARIABLE,
    STATE_DIR_VARIABLE,
)
from infra.private import read_small

FILE = "slackwater.yml"
"""Marks the folder of a project."""


Sort = Literal[
    "faults",
    "checks",
    "sinks",
    "readers",
    "generators",
    "lane_generators",
    "generator_definitions",
    "aggregates",
    "expectations",
    "formats",
    "decoders",
    "format_definitions",
    "format_draws",
    "reading_steps",
    "step_parts",
    "step_definitions",
    "windows",
    "window_parts",
    "window_definitions",
    "window_draws",
]
"""What plug-ins can add."""

Reference = Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")]
"""A class or function of the user, as `module:name`."""


class Settings(BaseModel):
    """The contents of `slackwater.yml`.

    Attributes:
        pipelines: the folder of pipeline files, a DAG each in Airflow.
        plans: the folder of chaos plans, run by the DAG `chaos_nightly`.
        python: the folder of the user's own modules; optional.
        state: the folder of logs, topics, checkpoints and tables.
        kafka: the settings file of a Kafka cluster; None: the local stack's broker.
        import_seconds: how long importing the user's classes may take; None: the default.
        plugins: what the user adds to the platform, by sort and name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    pipelines: str = Field(default="pipelines", min_length=1)
    plans: str = Field(default="plans", min_length=1)
    python: str = Field(default="src", min_length=1)
    state: str = Field(default=".slackwater", min_length=1)
    kafka: str | None = Field(default=None, min_length=1)
    import_seconds: int | None = Field(default=None, ge=1)
    plugins: dict[Sort, dict[str, Reference]] = Field(default_factory=dict)


class _Loader(yaml.SafeLoader):
    """Reads as pipeline files are read, by YAML 1.2, of which a project needs texts and numbers.

    By YAML 1.1, which PyYAML follows, `on` is true, `1:30` is 90 and `010` is 8.
    """


_Loader.yaml_implicit_resolvers = {}
for _name, _pattern, _begins in (
    ("null", r"(?:~|null|)\Z", ("~", "n", "")),
    ("int", r"(?:0|[1-9][0-9]*)\Z", tuple("0123456789")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(_pattern), _begins)


def choose(named: Path | None) -> Path | None:
    """Use a project from here on, also in child processes.

    Args:
        named: its folder; None: the environment's, else the nearest folder upwards from the working
            directory with a `slackwater.yml`.

    Returns:
        the project's folder; None: there is none, and nothing was changed.

    Raises:
        SettingsError: the folder is not a project, its file breaks a rule, or the current project
            belongs to another user and must be named.
    """
    variable = os.environ.get(PROJECT_VARIABLE)
    folder = named or (Path(variable) if variable else _around())
    if folder is None:
        return None
    from infra import kafka_settings  # noqa: PLC0415 - its models take as long as all of the rest

    folder = folder.resolve()
    settings = read(folder)
    os.environ[PROJECT_VARIABLE] = str(folder)
    for name, place in (
        (STATE_DIR_VARIABLE, settings.state),
        (PIPELINES_VARIABLE, settings.pipelines),
        (PLANS_VARIABLE, settings.plans),
        (PYTHON_VARIABLE, settings.python),
        (kafka_settings.FILE_VARIABLE, settings.kafka),
    ):
        if place is not None:
            os.environ.setdefault(name, str((folder / place).resolve()))
    if settings.import_seconds is not None:
        os.environ.setdefault(IMPORT_VARIABLE, str(settings.import_seconds))
    if settings.plugins:
        os.environ.setdefault(PLUGINS_VARIABLE, json.dumps(settings.plugins, sort_keys=True))
    _import_from(os.environ[PYTHON_VARIABLE])
    return folder


def _import_from(folder: str) -> None:
    """Let this process and its children import the user's modules, after ours."""
    before = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if folder not in before:
        os.environ["PYTHONPATH"] = os.pathsep.join([*before, folder])
    if folder not in sys.path:
        sys.path.append(folder)


def _around() -> Path | None:
    """Find the current project; it must be the user's own, since its modules may be imported.

    Raises:
        SettingsError: it is another user's.
    """
    folder = find(Path.cwd())
    if folder is not None and (folder / FILE).stat().st_uid != os.getuid():
        text = (
            f"{folder / FILE} belongs to another user: if you trust what is there, name the "
            f"project, `slackwater --project {folder}`"
        )
        raise SettingsError(text)
    return folder


def find(start: Path) -> Path | None:
    """Find the nearest folder with a project file, from `start` upwards; None: there is none."""
    around = (start, *start.parents)
    return next((folder for folder in around if (folder / FILE).is_file()), None)


def read(folder: Path) -> Settings:
    """Read the file of a project.

    Raises:
        SettingsError: it is missing or breaks a rule.
    """
    file = folder / FILE
    try:
        document = yaml.load(read_small(file), _Loader)  # noqa: S506 - a safe one
    except OSError as error:
        text = (
            f"{folder} is not a project: {FILE} cannot be read there ({error.strerror}); "
            f"`slackwater init {folder}` makes one of a new or empty folder"
        )
        raise SettingsError(text) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        text = f"{file} is not YAML: {error}"
        raise SettingsError(text) from None
    if not isinstance(document or {}, dict):
        text = f"{file} must hold keys and values, such as `pipelines: pipelines`"
        raise SettingsError(text)
    try:
        return Settings.model_validate(document or {})
    except ValidationError as error:
        raise SettingsError(_said(file, error)) from None


def _said(file: Path, error: ValidationError) -> str:
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return f"{file}: {key!r} is not a key: it knows {', '.join(Settings.model_fields)}"
    return f"{file}: {key}: {first['msg']}, and not {first['input']!r}"
