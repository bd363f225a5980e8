"""`slackwater check-aggregate`: is a class's merge independent of order?"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.console import FAILED, say

if TYPE_CHECKING:
    from chaos.order_freedom import CounterExample
    from windowing.model.fields import Kind


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(check_aggregate)


def check_aggregate(
    reference: Annotated[
        str, typer.Argument(metavar="MODULE:CLASS", help="The class.", show_default=False)
    ],
    takes: Annotated[
        list[str] | None,
        typer.Option(
            help="Type of a field of update: int, float, string; default: from its annotations."
        ),
    ] = None,
    attempts: Annotated[int, typer.Option(min=1, help="How many ways of merging to try.")] = 2000,
    within: Annotated[
        float,
        typer.Option(
            min=1,
            max=86_400,
            metavar="SECONDS",
            help="Time limit; a class that takes longer fails.",
        ),
    ] = 120,
) -> None:
    """Search for records for which the result of a user's aggregate depends on merge order."""
    from slackwater.limited import limited
    from windowing.model.fields import parse_field_type

    reference = reference.removeprefix("python:")
    try:
        asked = [parse_field_type(name).kind for name in takes or ()]
    except ValueError as error:
        msg = f"--takes {error}"
        raise typer.BadParameter(msg) from None
    kinds, found = limited(within, f"python:{reference}", _search, reference, asked, attempts)
    if found is None:
        say(f"{reference}: no counter-example in {attempts} attempts with {', '.join(kinds)}")
        return
    say(f"{reference}: {found.verdict}")
    for line in found.lines():
        say(line)
    raise typer.Exit(FAILED)


def _search(
    reference: str, kinds: Sequence[Kind], attempts: int
) -> tuple[Sequence[Kind], CounterExample | None]:
    """Return the types of the fields, and the result of the search."""
    from hypothesis import configuration

    from chaos.order_freedom import counter_example, kinds_of

    with tempfile.TemporaryDirectory() as folder:
        # Otherwise it would write files into the working directory.
        configuration.set_hypothesis_home_dir(folder)
        taken = kinds or kinds_of(reference)
        return taken, counter_example(reference, taken, attempts=attempts)
