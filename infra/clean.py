"""Forgets what a stack has written."""

import shutil

from infra.errors import InfraError
from infra.layout import HOME, INSTALLED, Layout, default_layout
from infra.process import is_alive
from infra.record import only_one, read


def clean(*, layout: Layout | None = None) -> None:
    """Deletes the data of a stopped stack: topics, checkpoints, tables, logs.

    What the set-up installed stays.

    Raises:
        InfraError: the stack still runs.
    """
    layout = layout or default_layout()
    with only_one(layout):
        alive = [name for name, one in read(layout).running.items() if is_alive(one.process)]
        if alive:
            text = f"the stack still runs ({', '.join(alive)}); run `slackwater down` first"
            raise InfraError(text)
        kept = {"stack.lock"} | (INSTALLED if layout.state_dir == HOME else frozenset())
        for path in layout.state_dir.iterdir():
            if path.name in kept:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
