"""Flink's SQL windows as a box, on inputs whose reports were worked out by hand."""

from __future__ import annotations

import pytest

from jobs.live_engines.flink import flink_windows
from tests.unit.research.boxes import one_by_one
from windowing.research.engines.parameters import Domain
from windowing.research.prober.experiments import Refused, Size


@pytest.mark.parametrize("windows", ["tvf", "group"])
def test_windows_are_sent_by_the_tuple_that_closes_them(windows: str) -> None:
    asked, streams = Size(4, 2, 1), (one_by_one(1, 2, 4, 4, 9), one_by_one(7))
    with flink_windows(windows) as box:
        answers = box.run_all(Domain.time, [(asked, stream) for stream in streams])
        # What Flink sends at the end of the input is no answer to a tuple.
        assert answers == [[[], [[1]], [[1, 2]], [], [[2, 3, 4], [3, 4]]], [[]]]
        gaps = (Domain.time, Size(2, 3, 1), one_by_one(1, 2, 3, 5, 9))
        if windows == "tvf":
            with pytest.raises(Refused, match="integral multiple"):
                box.run(*gaps)
        else:
            # [0, 2), [3, 5), [6, 8): 2 and 5 are in none.
            assert box.run(*gaps) == [[], [[1]], [], [[3]], []]
        with pytest.raises(Refused, match="no windows of tuples"):
            box.run(Domain.tuple, asked, streams[0])
