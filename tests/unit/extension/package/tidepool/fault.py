"""A custom fault: somebody leaves a file in the checkpoint."""

from dataclasses import dataclass
from pathlib import Path

from chaos.errors import FaultDidNotApply
from chaos.faults import FaultContext, Suggestion, fault


@fault(
    "stray_file",
    takes=("hold",),
    ends="cure",
    back_s=4,
    suggestion=Suggestion(14, "a file that nobody asked for", aside=True),
)
@dataclass
class StrayFile:
    """Put a file of somebody else's beside the plans of batches; Spark must pass it over."""

    hold_s: float = 2.0

    def inject(self, context: FaultContext) -> str:
        """Put it there."""
        if not (context.checkpoint / "offsets").is_dir():
            msg = "no batch is planned: there is nowhere to leave a file"
            raise FaultDidNotApply(msg)
        self._stray(context).write_text("who left me here?")
        return "a stray file lies in offsets/"

    def heal(self, context: FaultContext) -> str:
        """Take it away."""
        self._stray(context).unlink(missing_ok=True)
        return "it is taken away"

    def _stray(self, context: FaultContext) -> Path:
        return context.checkpoint / "offsets" / ".stray.tmp"
