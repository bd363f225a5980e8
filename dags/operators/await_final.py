"""For DAGs downstream: wait until a pipeline's windows up to a time are final."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow.sdk import Asset, BaseSensorOperator, Context
from airflow.sdk.exceptions import AirflowFailException

ALL = "all"
"""In `final_until`: every lane has ended, and all windows are final."""


class AwaitFinal(BaseSensorOperator):
    """Succeeds once windows of a query that end by an instant do not change any more.

    It reads the newest event of the table's Asset, which is sent only after checks that passed: as
    long as an expectation does not hold, it waits. Between two looks it holds no worker slot.

    Args:
        until: the instant in ISO 8601, UTC if it names no zone; a template, such as
            `{{ data_interval_end }}`.
        table: the pipeline's output, if it is not called like the pipeline.
        **kwargs: of Airflow's sensors: `poke_interval` (60 s), `timeout` (a week), `mode`.
    """

    template_fields = ("until",)
    ui_color = "#e6f1f2"

    def __init__(
        self, *, pipeline: str, query: str, until: str, table: str | None = None, **kwargs: Any
    ) -> None:
        # Refers to the Asset that the pipeline's DAG defines.
        self.asset = Asset.ref(uri=f"slackwater://{pipeline}/{table or pipeline}")
        super().__init__(inlets=[self.asset], **({"mode": "reschedule"} | kwargs))
        self.query = query
        self.until = until

    def poke(self, context: Context) -> bool:
        """Look at the newest event.

        Raises:
            AirflowFailException: there is no such query, or the query has no such instant.
        """
        events = context["inlet_events"][self.asset].ascending(False).limit(1)
        if not len(events):
            self.log.info("the Asset has no event yet")
            return False
        instants = events[0].extra.get("final_until") or {}
        if instants and self.query not in instants:
            msg = f"{self.query!r} is not a query of the pipeline: use one of {', '.join(instants)}"
            raise AirflowFailException(msg)
        final_until = instants.get(self.query)
        self.log.info("windows of %s are final until %s", self.query, final_until)
        return final_until is not None and _is_final(final_until, self.until)


def _is_final(final_until: str, wanted: str) -> bool:
    return final_until == ALL or _instant(final_until) >= _instant(wanted)


def _instant(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
