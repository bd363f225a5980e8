"""Trial import of a pipeline's user classes before a command uses them; it may do anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from slackwater.limited import LimitReached, limited

if TYPE_CHECKING:
    from windowing.model import Pipeline

WITHIN_S: Final = 60.0
"""Time limit for importing them, in seconds; the first import of a large library is slow."""


def check_classes(spec: Pipeline, file: Path) -> None:
    """Import every class that the pipeline names, in a separate process.

    Args:
        spec: the pipeline.
        file: its file, for messages.

    Raises:
        PipelineError: with every class that cannot be used.
        BadParameter: the import hangs, or ends the process.
    """
    from windowing.model.file.user_code import check_user_code, user_classes

    if not any(user_classes(spec)):
        return
    try:
        limited(WITHIN_S, f"{file}: importing its classes", check_user_code, spec, str(file))
    except LimitReached as error:
        raise typer.BadParameter(str(error)) from None
