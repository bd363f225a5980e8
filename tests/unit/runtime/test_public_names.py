"""What `import windowing` offers can be seen, and is there."""

import subprocess
import sys

import windowing


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
