"""Write the recorded cases of these windows again: `python -m tests.unit.more_windows`."""

from tests.unit.more_windows.cases import cases
from tests.unit.more_windows.plain_python import FOLDER

for case in cases():
    (FOLDER / case.name).mkdir(parents=True, exist_ok=True)
    for name, content in case.files().items():
        (FOLDER / case.name / name).write_text(content, encoding="utf-8")
