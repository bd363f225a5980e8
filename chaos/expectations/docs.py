"""The Data Docs: one file context of Great Expectations, to which each run adds its results."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import great_expectations as gx
import pandas as pd
from great_expectations.checkpoint import UpdateDataDocsAction
from great_expectations.core.run_identifier import RunIdentifier
from great_expectations.exceptions import GreatExpectationsError

from chaos.expectations.report import QualityError
from chaos.expectations.suites import POSITION

_SOURCE: Final = "window_outputs"
_WHOLE: Final = "whole"
_SITE: Final = "local_site"


class Site:
    """A file context: suites, validation results, and the pages made of them.

    Args:
        folder: the project folder; made where there is none.

    Raises:
        QualityError: the folder cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            context = gx.get_context(mode="file", project_root_dir=folder)
            context.enable_analytics(False)
            context.variables.progress_bars = {"globally": False}
            context.variables.save()
        except (OSError, GreatExpectationsError) as error:
            msg = (
                f"{folder} cannot hold the Data Docs ({error}): give another folder, or delete it "
                "if a run was cut off while it wrote there"
            )
            raise QualityError(msg) from error
        self._context = context

    def judge(
        self, *, batch: str, frame: pd.DataFrame, expectations: list[Any], run: str
    ) -> dict[int, tuple[bool, str]]:
        """Validate one frame and add the result to the pages.

        Args:
            batch: names the frame, its suite and its pages.
            frame: the rows.
            expectations: each with its position in `meta`.
            run: the run's name in the pages.

        Returns:
            by position, whether the expectation was met, and what was observed.
        """
        context = self._context
        suite = gx.ExpectationSuite(name=batch, expectations=expectations)
        validation = gx.ValidationDefinition(
            name=batch,
            data=self._batch_definition(batch),
            suite=context.suites.add_or_update(suite),
        )
        checkpoint = gx.Checkpoint(
            name=batch,
            validation_definitions=[context.validation_definitions.add_or_update(validation)],
            actions=[UpdateDataDocsAction(name="pages", site_names=[_SITE])],
        )
        outcome = context.checkpoints.add_or_update(checkpoint).run(
            batch_parameters={"dataframe": frame}, run_id=RunIdentifier(run_name=run)
        )
        return {
            result.expectation_config.meta[POSITION]: (bool(result.success), _detail(result))
            for validated in outcome.run_results.values()
            for result in validated.results
        }

    def index(self) -> Path:
        """The first page; built now if nothing has been judged yet."""
        url = self._context.get_docs_sites_urls(site_names=[_SITE])[0]["site_url"]
        if url is None:
            self._context.build_data_docs(site_names=[_SITE])
            url = self._context.get_docs_sites_urls(site_names=[_SITE])[0]["site_url"]
        return Path(unquote(urlsplit(url).path))

    def _batch_definition(self, name: str) -> Any:
        sources = self._context.data_sources
        try:
            source = sources.get(_SOURCE)
        except KeyError:
            source = sources.add_pandas(_SOURCE)
        try:
            asset = source.get_asset(name)
        except LookupError:
            asset = source.add_dataframe_asset(name)
        try:
            return asset.get_batch_definition(_WHOLE)
        except KeyError:
            return asset.add_batch_definition_whole_dataframe(_WHOLE)


def _detail(result: Any) -> str:
    """Say in one line what was observed."""
    exceptions = [
        info["exception_message"]
        for info in _exceptions(result.exception_info or {})
        if info.get("raised_exception")
    ]
    if exceptions:
        return f"could not be evaluated: {exceptions[0]}"
    observed = result.result
    if "unexpected_count" in observed:
        text = f"{observed['unexpected_count']} of {observed['element_count']} unexpected"
        examples = observed.get("partial_unexpected_list") or []
        return f"{text}, as {', '.join(str(value) for value in examples[:3])}" if examples else text
    if "observed_value" in observed:
        value = observed["observed_value"]
        return value if isinstance(value, str) else f"observed {value}"
    return "met" if result.success else "not met"


def _exceptions(info: dict[str, Any]) -> list[dict[str, Any]]:
    """Great Expectations gives one exception, or one for each part that could not be computed."""
    return [info] if "raised_exception" in info else list(info.values())
