"""A custom expectation of window outputs: no window of the grid is left out."""

from chaos.quality.expectation import expectation
from chaos.quality.frame_metric import FrameExpectation, Judgement


@expectation("expect_no_window_to_be_silent")
class ExpectNoWindowToBeSilent(FrameExpectation):
    """Windows begin every `slide` seconds, and each has a row."""

    slide: float
    metric_name = "table.silent_windows"

    @staticmethod
    def measure(frame, slide):
        """How many windows have no row, between the first and the last that have one."""
        starts = frame["window_start"].drop_duplicates().sort_values()
        steps = starts.diff().dropna().dt.total_seconds() / slide
        return int((steps - 1).sum())

    def judge(self, found, arguments):
        return Judgement(found == 0, f"{found} silent windows")
