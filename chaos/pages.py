"""Pages from the templates of this package: one file each, readable without a network."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, select_autoescape


def page(template: str, **values: object) -> str:
    """Fill a template; what stands in values is escaped in HTML.

    Args:
        template: its file in `chaos/templates`.
        values: by the names that the template uses.
    """
    environment = Environment(
        loader=PackageLoader("chaos", "templates"),
        autoescape=select_autoescape(["html.j2"]),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)
