"""The command about aggregates: is a class's merge free of order?"""

from __future__ import annotations

from typing import Annotated

import typer

from slackwater.console import FAILED, say


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(check_aggregate)


def check_aggregate(
    reference: Annotated[
        str, typer.Argument(metavar="MODULE:CLASS", help="The class.", show_default=False)
    ],
    takes: Annotated[
        list[str] | None,
        typer.Option(help="Type of a field of update: int, float, string; by its annotations."),
    ] = None,
    attempts: Annotated[int, typer.Option(min=1, help="How many ways to merge are tried.")] = 2000,
) -> None:
    """Search for records on which the merge of a user's aggregate shows its order."""
    from chaos.order_freedom import counter_example, kinds_of
    from windowing.spec.fields import parse_field_type

    reference = reference.removeprefix("python:")
    kinds = [parse_field_type(name).kind for name in takes] if takes else kinds_of(reference)
    found = counter_example(reference, kinds, attempts=attempts)
    if found is None:
        say(f"{reference}: no counter-example in {attempts} attempts with {', '.join(kinds)}")
        return
    say(f"{reference}: the result depends on how states are merged")
    for line in found.lines():
        say(line)
    raise typer.Exit(FAILED)
