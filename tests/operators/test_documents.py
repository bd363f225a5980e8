"""The examples that show how an operator is used run as they stand."""

import doctest
import re
from pathlib import Path

from windowing.operators import aggregator

README = Path(__file__).parents[2] / "windowing" / "README.md"


def test_the_example_of_the_readme_runs() -> None:
    example = re.search(r"```py\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert example is not None
    assert "assert" in example[1]
    exec(compile(example[1], "windowing/README.md", "exec"), {})  # noqa: S102 - our own document


def test_the_example_of_the_aggregator_runs() -> None:
    result = doctest.testmod(aggregator)
    assert result.attempted > 3
    assert not result.failed
