"""What `import windowing` offers can be seen, is there, and runs as its examples show."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import windowing
from windowing.runtime.standalone import operators


def test_dir_shows_every_public_name() -> None:
    """In a separate process: once a name was looked up, a module may show more."""
    code = "import windowing; print(sorted(set(windowing.__all__) - set(dir(windowing))))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    assert len(windowing.__all__) > 20
    for name in windowing.__all__:
        assert getattr(windowing, name) is not None


def test_a_pipeline_is_checked_without_its_engine() -> None:
    code = (
        "import sys, windowing; windowing.load_pipeline; from windowing import Session, Problem;"
        "print(sorted(name for name in sys.modules if name.startswith('windowing.engine')))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


README = Path(__file__).parents[3] / "windowing" / "README.md"


def test_the_examples_of_the_readme_run() -> None:
    examples = re.findall(r"```py\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(examples) >= 3
    known: dict[str, object] = {}
    for example in examples:
        assert "assert" in example
        exec(compile(example, "windowing/README.md", "exec"), known)  # noqa: S102 - our own document


def test_the_example_of_the_aggregator_runs() -> None:
    result = doctest.testmod(operators)
    assert result.attempted > 3
    assert not result.failed
