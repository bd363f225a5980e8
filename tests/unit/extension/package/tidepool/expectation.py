"""An expectation of one's own, of window outputs: no window of the grid is left out."""

from great_expectations.expectations.expectation import BatchExpectation

from chaos.quality.expectation import expectation
from chaos.quality.frame_metric import FrameMetric


class SilentWindows(FrameMetric):
    """How many windows of a grid have no row, between the first and the last that have one."""

    metric_name = "table.silent_windows"
    value_keys = ("slide",)

    @classmethod
    def measure(cls, frame, **values):
        starts = frame["window_start"].drop_duplicates().sort_values()
        steps = starts.diff().dropna().dt.total_seconds() / values["slide"]
        return int((steps - 1).sum())


@expectation("expect_no_window_to_be_silent")
class ExpectNoWindowToBeSilent(BatchExpectation):
    """Windows begin every `slide` seconds, and each has a row."""

    slide: float
    metric_dependencies = (SilentWindows.metric_name,)
    success_keys = args_keys = ("slide",)

    def _validate(self, metrics, runtime_configuration=None, execution_engine=None):
        silent = metrics[SilentWindows.metric_name]
        return {"success": silent == 0, "result": {"observed_value": f"{silent} silent windows"}}
