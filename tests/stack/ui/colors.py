"""Colors of what a browser shows, and whether they can be told apart."""

from __future__ import annotations

import re

from selenium.webdriver.remote.webelement import WebElement

READABLE = 4.5
"""The least contrast of text, by WCAG 2, level AA."""


def color(element: WebElement, name: str) -> list[float]:
    """Red, green and blue of an element, from 0 to 255."""
    return [float(part) for part in re.findall(r"[\d.]+", element.value_of_css_property(name))[:3]]


def contrast(one: list[float], other: list[float]) -> float:
    """The contrast of two colors, from 1 to 21, as WCAG 2 defines it."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(parts: list[float]) -> float:
    """The relative luminance of a color, from 0 to 1."""
    linear = [
        p / 255 / 12.92 if p / 255 <= 0.04045 else ((p / 255 + 0.055) / 1.055) ** 2.4 for p in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
