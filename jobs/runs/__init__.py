"""Runs of a pipeline: their folders, submission and progress.

A run is one checkpoint. Its folder holds the checkpoint, a copy of the pipeline file as it was
submitted, and a note of how; its rows are in the pipeline's table under the run's name.
`jobs.runs.life` has the states of a run and their transitions.
"""

from infra.private import SECRETS_FOLDER
from jobs.checkpoints.checkpoint import committed_offsets, planned_offsets
from jobs.runs.folder import (
    FAILURE_FILE,
    Options,
    Run,
    RunError,
    RunNameError,
    as_accepted,
    checkpoint_of,
    failure,
    find,
    folder_of,
    newest,
    table_of,
)
from jobs.runs.looking import Progress, progress
from jobs.runs.submission import living, start, stop, stop_all, stop_run, submit, take_over

__all__ = [
    "FAILURE_FILE",
    "SECRETS_FOLDER",
    "Options",
    "Progress",
    "Run",
    "RunError",
    "RunNameError",
    "as_accepted",
    "checkpoint_of",
    "committed_offsets",
    "failure",
    "find",
    "folder_of",
    "living",
    "newest",
    "planned_offsets",
    "progress",
    "start",
    "stop",
    "stop_all",
    "stop_run",
    "submit",
    "table_of",
    "take_over",
]
