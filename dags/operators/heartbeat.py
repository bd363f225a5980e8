"""A task that keeps a pipeline moving while some of its partitions are silent."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Context

from dags.operators.run_command import CommandTask


class WriteHeartbeats(CommandTask):
    """Writes a bound into every partition that has been silent for too long, once.

    For your own DAG, scheduled as often as a window may wait. It is idempotent: writing a bound
    twice changes nothing.

    Args:
        file: the pipeline file, relative to the checkout.
        silent: how long a partition must have been silent, such as `5 min`.
        max_delay: the longest delay of a record; required unless the pipeline's generator is
            `heartbeat`, which states it.
    """

    template_fields = ("file", "silent", "max_delay")

    def __init__(
        self, *, file: str, silent: str = "30 s", max_delay: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.file, self.silent, self.max_delay = file, silent, max_delay

    def execute(self, context: Context) -> list[str]:
        """Check once; return a line for each bound that was written."""
        delay = ["--max-delay", self.max_delay] if self.max_delay else []
        return list(
            self.call("heartbeat", self.file, "--once", "--silent", self.silent, *delay).stdout
        )
