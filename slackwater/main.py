"""The command `slackwater`: all subcommands, and the form of errors.

An error that a user can act on has `exit_code`, and its text is the sentence that the user reads;
any other exception is a bug of ours: also one sentence, with the stack trace kept in a file.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from slackwater import rooms
from slackwater.commands import AllCommands
from slackwater.console import FAILED, PASSED, complain, say, tell
from slackwater.ending import Interrupted, is_interrupted, supervised

app = typer.Typer(
    cls=AllCommands,
    help="Windowed streaming pipelines whose results are a pure function of the log.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    """Print the version of the installed package, or of the checkout that this is."""
    from importlib import metadata

    if not asked:
        return
    try:
        version = metadata.version("slackwater")
    except metadata.PackageNotFoundError:
        import tomllib

        text = (rooms.FOLDER.parent.parent / "pyproject.toml").read_text(encoding="utf-8")
        version = tomllib.loads(text)["project"]["version"]
    say(f"slackwater {version}")
    raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    kafka: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.yml", help="How to reach your own Kafka cluster: docs/kafka.md."
        ),
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The project to work in; default: the nearest folder above with a "
            "slackwater.yml: docs/first-pipeline.md.",
        ),
    ] = None,
) -> None:
    """Apply the options that all commands share."""
    work_in(project)
    if kafka is not None:
        from infra import kafka_settings

        kafka_settings.choose(kafka)


def work_in(project: Path | None) -> None:
    """Choose the project; change into a named one, like `make -C`, so that paths are relative."""
    from infra import project as projects

    if projects.choose(project) is not None and project is not None:
        os.chdir(project)


_NEW_OBJECTS = 500_000
"""After how many new objects Python looks for garbage, by default 700. A log's records, and what is
derived from them, stay to the end; to look through them each time took a quarter of `quality`."""


def main() -> None:
    """Run the command line in a child process; exit within two seconds of a signal."""
    _open_closed_streams()
    supervised(run)


def _open_closed_streams() -> None:
    """Open closed standard streams on /dev/null, so that no file of ours gets their numbers."""
    for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)):
        if stream is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - for good
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def run() -> int:
    """Run the command line; return the exit code. An error is a sentence, not a stack trace."""
    gc.set_threshold(_NEW_OBJECTS)
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal's encoding lacks is shown as its code point.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = app(standalone_mode=False)
    except BaseException as error:
        if is_interrupted() or isinstance(error, KeyboardInterrupt):  # polars raises this one
            raise Interrupted from error
        if isinstance(error.__context__, BrokenPipeError):  # the reader has gone: `| head`
            return FAILED
        last = traceback.extract_tb(error.__traceback__)[-1].filename
        if isinstance(error, SystemExit) and Path(last).parent == Path(typer.__file__).parent:
            return error.code if isinstance(error.code, int) else PASSED  # of completion
        return said(error)
    return code if isinstance(code, int) else PASSED


def said(error: BaseException) -> int:
    """Print an error; return its exit code."""
    if isinstance(error, TyperException):
        return _said_of_usage(error)
    code = getattr(error, "exit_code", None)
    if isinstance(code, int):
        complain(str(error))
        return code
    if isinstance(error, OSError):
        place = "" if error.filename is None else f"{error.filename}: "
        complain(f"{place}{error.strerror or error}")
        return FAILED
    if isinstance(error, ModuleNotFoundError) and (sentence := rooms.remedy(error)):
        complain(sentence)
        return FAILED
    last = traceback.extract_tb(error.__traceback__)[-1]
    complain(
        f"{type(error).__name__} at {last.filename}:{last.lineno}: {error or 'it says no more'}; "
        f"this is a mistake of ours: {_kept(error)} holds what led to it"
    )
    return FAILED


def _said_of_usage(error: TyperException) -> int:
    """Print what is wrong with the command line itself."""
    context, text = getattr(error, "ctx", None), error.format_message()
    if text.strip():  # without arguments, the help has been printed
        if context is not None:
            tell(context.get_usage().strip())
        complain(text)
    return error.exit_code


def _kept(error: BaseException) -> str:
    """Write a stack trace to a file; return its path."""
    with tempfile.NamedTemporaryFile(
        "w",
        prefix="slackwater-error-",
        suffix=".txt",
        delete=False,
        encoding="utf-8",
        errors="backslashreplace",
    ) as file:
        file.write("".join(traceback.format_exception(error)))
    return file.name


if __name__ == "__main__":
    main()
