"""Write the recorded cases of reading again: `python -m tests.unit.reading`."""

from tests.unit.reading.cases import cases
from tests.unit.reading.plain_python import FOLDER

for case in cases():
    (FOLDER / case.name).mkdir(parents=True, exist_ok=True)
    for name, content in case.files().items():
        (FOLDER / case.name / name).write_text(content, encoding="utf-8")
