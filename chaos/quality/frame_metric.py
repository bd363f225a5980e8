"""Base class of our expectations' metrics, which are functions of a whole pandas batch."""

from __future__ import annotations

from typing import Any

import pandas as pd
from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider


class FrameMetric(TableMetricProvider):  # type: ignore[misc]
    """A metric of a batch; a subclass defines `metric_name`, `value_keys` and `measure`."""

    @classmethod
    def measure(cls, frame: pd.DataFrame, **values: Any) -> Any:
        """Compute the metric of one batch.

        Args:
            frame: the batch.
            **values: the expectation's arguments, by `value_keys`.
        """
        raise NotImplementedError

    @metric_value(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator]
    def _pandas(
        cls,  # noqa: N805 - the decorator makes it a class method
        execution_engine: Any,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any] | None,
        **_: Any,
    ) -> Any:
        frame, _domain, _accessor = execution_engine.get_compute_domain(
            metric_domain_kwargs, domain_type="table"
        )
        return cls.measure(frame, **(metric_value_kwargs or {}))
