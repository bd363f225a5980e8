"""Deletes what a stack has written."""

import shutil

from infra.errors import InfraError
from infra.layout import Layout, default_layout
from infra.process import is_alive
from infra.record import only_one, read
from infra.state_folder import deletable, left_over


def clean(*, layout: Layout | None = None) -> list[str]:
    """Delete the data of a stopped stack: topics, checkpoints, tables, logs.

    Only names that the platform creates, in a folder that `up` has marked; links are not followed.
    Installed software stays.

    Returns:
        Names of other things in the folder, which were left alone.

    Raises:
        InfraError: the stack is still running, or the folder is not a state folder.
    """
    layout = layout or default_layout()
    if not layout.state_dir.exists():
        return []
    deletable(layout)  # not even a lock is put into someone else's folder
    with only_one(layout):
        alive = [name for name, one in read(layout).running.items() if is_alive(one.process)]
        if alive:
            text = f"the stack still runs ({', '.join(alive)}); run `slackwater down` first"
            raise InfraError(text)
        for path in deletable(layout):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        return left_over(layout)
