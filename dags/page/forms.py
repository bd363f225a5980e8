"""What browsers send to a page, and what of it is taken."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from pydantic import AfterValidator, BaseModel, Field

from dags.operators.request import ShownState
from dags.page.answers import NAME


def _without_nul(text: str) -> str:
    if "\0" in text:
        msg = "the character NUL stands in no name and no value: leave it out"
        raise ValueError(msg)
    return text


Text = Annotated[str, AfterValidator(_without_nul)]
Name = Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
Value = Annotated[Text, Field(max_length=4_096)]
"""A value of a key; a longer one would not fit an address, either."""


class ActionForm(BaseModel):
    """A form, as it was sent.

    Attributes:
        run, replay_from, replay_to, plan: its fields, empty where the action has none of them.
        shown_run: the run that the page showed as the live one; empty: there was none.
        shown_file: the digest of the file that it showed; empty: it was sent by no page.
    """

    action: Annotated[Text, Field(max_length=40)]
    run: Annotated[Text, Field(max_length=80)] = ""
    replay_from: Annotated[Text, Field(max_length=2_100)] = ""
    replay_to: Annotated[Text, Field(max_length=2_100)] = ""
    plan: Annotated[Text, Field(max_length=250)] = ""
    shown_run: Annotated[str, Field(pattern=f"^({NAME.pattern})?$")] = ""
    shown_file: Annotated[str, Field(pattern="^([0-9a-f]{64})?$")] = ""

    @property
    def shown(self) -> ShownState | None:
        """What the page showed; None: it was sent by no page."""
        return ShownState(self.shown_run or None, self.shown_file) if self.shown_file else None


class Window(BaseModel):
    """A window of a run, as an address names it.

    Attributes:
        key: its key's values, in the order of the fields.
    """

    run: Name
    query: Name
    window: Annotated[str, Field(pattern=r"^-?[0-9]{1,19}$")]
    key: Annotated[list[Value], Field(max_length=100)] = []

    def asked(self, file: str) -> list[str]:
        """Return the command that asks about it."""
        window = [f"--window={self.window}", *(f"--key={value}" for value in self.key)]
        return ["why", file, "--run", self.run, "--query", self.query, *window]

    @property
    def address(self) -> str:
        """The part of an address that names it, as a query."""
        return urlencode(self.model_dump(), doseq=True)
