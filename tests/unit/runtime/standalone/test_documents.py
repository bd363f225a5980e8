"""The examples that show how an operator is used run as they stand."""

import doctest
import re
from pathlib import Path

from windowing.runtime.standalone import operators

README = Path(__file__).parents[4] / "windowing" / "README.md"


def test_the_examples_of_the_readme_run() -> None:
    examples = re.findall(r"```py\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(examples) >= 3
    known: dict[str, object] = {}
    for example in examples:
        assert "assert" in example
        exec(compile(example, "windowing/README.md", "exec"), known)  # noqa: S102 - our own document


def test_the_example_of_the_operators_runs() -> None:
    result = doctest.testmod(operators)
    assert result.attempted > 3
    assert not result.failed
