"""The Data Docs: one file context of Great Expectations, to which each run adds its results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import great_expectations as gx
import pandas as pd
from great_expectations.core.run_identifier import RunIdentifier
from great_expectations.data_context.types.resource_identifiers import ExpectationSuiteIdentifier
from great_expectations.exceptions import GreatExpectationsError

from chaos.quality.results import QualityError
from chaos.quality.suites import POSITION

_SOURCE: Final = "window_outputs"
_WHOLE: Final = "whole"
_SITE: Final = "local_site"
_VIEW: Final = {"module_name": "chaos.quality.page_view", "class_name": "PageView"}


class Site:
    """A file context: suites, validation results, and their pages.

    Args:
        folder: the project folder; created if missing.

    Raises:
        QualityError: the folder cannot be used; all methods raise it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pages: list[Any] = []
        with _stored_in(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._context = _opened(folder)
            self._context.enable_analytics(False)
            self._context.variables.progress_bars = {"globally": False}
            self._use_our_pages()
            self._context.variables.save()

    def judge(
        self, *, batch: str, frame: pd.DataFrame, expectations: list[Any], run: str
    ) -> dict[int, tuple[bool, str]]:
        """Validate one frame and keep the result.

        Args:
            batch: name of the frame, its suite and its pages.
            expectations: each with its position in `meta`.

        Returns:
            by position, whether the expectation was met, and the observed value.
        """
        with _stored_in(self._folder):
            outcome = self._checkpoint(batch, expectations).run(
                batch_parameters={"dataframe": frame}, run_id=RunIdentifier(run_name=run)
            )
        self._pages += [ExpectationSuiteIdentifier(name=batch), *outcome.run_results]
        return {
            result.expectation_config.meta[POSITION]: (bool(result.success), _detail(result))
            for validated in outcome.run_results.values()
            for result in validated.results
        }

    def publish(self) -> Path:
        """Write the pages of the results; pages of earlier results are kept.

        Returns:
            the first page.
        """
        with _stored_in(self._folder):
            built = self._context.build_data_docs(
                site_names=[_SITE], resource_identifiers=self._pages or None
            )
        return Path(unquote(urlsplit(built[_SITE]).path))

    def _use_our_pages(self) -> None:
        """Render pages with our view, also in folders created before it existed."""
        sites = self._context.variables.data_docs_sites
        site = sites[_SITE]
        site["show_how_to_buttons"] = False
        site["site_index_builder"] = {"class_name": "DefaultSiteIndexBuilder", "view": _VIEW}
        site["site_section_builders"] = {
            "expectations": {"view": _VIEW},
            "validations": {"view": _VIEW},
            "profiling": "None",
        }
        self._context.variables.data_docs_sites = sites

    def _checkpoint(self, name: str, expectations: list[Any]) -> Any:
        context = self._context
        suite = gx.ExpectationSuite(name=name, expectations=expectations)
        validation = gx.ValidationDefinition(
            name=name,
            data=self._batch_definition(name),
            suite=context.suites.add_or_update(suite),
        )
        kept = context.validation_definitions.add_or_update(validation)
        checkpoint = gx.Checkpoint(name=name, validation_definitions=[kept])
        return context.checkpoints.add_or_update(checkpoint)

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


def _opened(folder: Path) -> Any:
    """Open the folder's project; one that we make has no file of variables.

    Great Expectations reads that file anew for every name that it looks up, some 250 times a run.
    """
    ours = not (folder / "gx").exists()
    context = gx.get_context(mode="file", project_root_dir=folder)
    if not ours:
        return context
    context.variables.config_variables_file_path = None
    context.variables.save()
    return gx.get_context(mode="file", project_root_dir=folder)


@contextmanager
def _stored_in(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, GreatExpectationsError) as error:
        msg = (
            f"{folder} cannot hold the Data Docs ({error}): give another folder, or delete this "
            "one if a run was cut off while it wrote there"
        )
        raise QualityError(msg) from error


def _detail(result: Any) -> str:
    exceptions = [
        info["exception_message"]
        for info in _exceptions(result.exception_info or {})
        if info.get("raised_exception")
    ]
    if exceptions:
        return f"could not be evaluated: {exceptions[0]}"
    observed = result.result
    if "unexpected_count" in observed:
        # Great Expectations does not count distinct values.
        of_all = f" of {observed['element_count']}" if "element_count" in observed else ""
        text = f"{observed['unexpected_count']}{of_all} unexpected"
        examples = observed.get("partial_unexpected_list") or []
        return f"{text}, as {', '.join(str(value) for value in examples[:3])}" if examples else text
    if "observed_value" in observed:
        value = observed["observed_value"]
        return value if isinstance(value, str) else f"observed {value}"
    return "met" if result.success else "not met"


def _exceptions(info: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the exceptions: Great Expectations gives one, or one per part that failed."""
    return [info] if "raised_exception" in info else list(info.values())
