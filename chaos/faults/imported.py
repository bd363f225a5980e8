"""What no log may have imported: the module of a class that records of a hostile producer name.

Whoever imports this module leaves a file in the folder of the stack's state, which its jobs know.
"""

from __future__ import annotations

import os
from pathlib import Path

from chaos.faults.hostile_records import imported_file
from infra.layout import STATE_DIR_VARIABLE

if (_state := os.environ.get(STATE_DIR_VARIABLE)) is not None and Path(_state).is_dir():
    imported_file(Path(_state)).touch()
