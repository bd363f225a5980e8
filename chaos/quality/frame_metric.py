"""What our expectations share: each measures a whole pandas batch, and judges what it measured."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from inspect import signature
from typing import Any, ClassVar, Final, NamedTuple

from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

SHOWN: Final = 20
"""How many examples of each kind of error the details of a result hold."""


class FrameMetric(TableMetricProvider):  # type: ignore[misc]
    """A metric of a batch; a subclass defines `metric_name`, `value_keys` and `measure`.

    `measure` gets the batch, and the expectation's arguments by `value_keys`.
    """

    measure: ClassVar[Callable[..., Any]]

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


class Judgement(NamedTuple):
    """Whether an expectation is met, the observed value in one line, and details of it."""

    success: bool
    text: str
    details: Any = None


class FrameExpectation(BatchExpectation):  # type: ignore[misc]
    """An expectation of a pandas batch.

    A subclass declares its arguments as fields, and defines `metric_name`, `measure` and `judge`.
    The arguments that `measure` takes, beside the batch, are those that the metric depends on.
    """

    metric_name: ClassVar[str]
    """A name for what is measured, unique among all of Great Expectations' metrics."""

    measure: ClassVar[Callable[..., Any]]
    """A static method: measures a batch, given it and arguments of the expectation by their names.

    A `KeyError` says that the batch lacks a column.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        given = FrameExpectation.__fields__
        arguments = tuple(name for name in cls.__fields__ if name not in given)
        cls.success_keys = cls.args_keys = arguments
        if "measure" in vars(cls):
            _batch, *keys = signature(cls.measure).parameters
            members = {
                "metric_name": cls.metric_name,
                "value_keys": tuple(keys),
                "measure": staticmethod(cls.measure),
            }
            type(f"{cls.__name__}Metric", (FrameMetric,), members)  # which registers it
            cls.metric_dependencies = (cls.metric_name,)

    @abstractmethod
    def judge(self, found: Any, arguments: dict[str, Any]) -> Judgement:
        """Judge what `measure` returned."""

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: Any = None,
    ) -> dict[str, Any]:
        success, text, details = self.judge(metrics[self.metric_name], self._get_success_kwargs())
        result = {"observed_value": text}
        if details is not None:
            result["details"] = details
        return {"success": success, "result": result}
