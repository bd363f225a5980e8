"""Pages from the templates of this package, each one self-contained file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, PackageLoader, select_autoescape

from windowing.files.whole_files import whole_files


def page(template: str, **values: object) -> str:
    """Fill a template, escaping values in HTML.

    Args:
        template: file name in `chaos/reports/templates`.
        values: the template's variables.
    """
    environment = Environment(
        loader=PackageLoader("chaos.reports", "templates"),
        autoescape=select_autoescape(["html.j2"]),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)


def write_together(folder: Path, contents: Mapping[str, str | bytes]) -> None:
    """Write files atomically and together: a killed command leaves the old ones, or none.

    Args:
        folder: an existing folder.
        contents: contents by file name; text becomes UTF-8.

    Raises:
        WriteError: the files cannot be written.
    """
    with whole_files(*(folder / name for name in contents)) as files:
        for file, content in zip(files, contents.values(), strict=True):
            file.write(content.encode() if isinstance(content, str) else content)
