"""Data quality of window outputs: Great Expectations, and expectations made for windows.

`run.check` judges one run of a pipeline by the `quality` block of its file; `block` defines the
syntax, `results` keeps what was found over time. `expectations` has ours, by theme; they work in
any suite on pandas.
Importing this package is fast: it imports neither pandas nor Great Expectations.
"""

from chaos.quality.block import Check, read_block
from chaos.quality.results import QualityError, QualityReport, QualityResult
from chaos.quality.valid import validate

__all__ = [
    "Check",
    "QualityError",
    "QualityReport",
    "QualityResult",
    "read_block",
    "validate",
]
