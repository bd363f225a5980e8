"""Draw mutants of the engine, in a copy of the commit: cosmic-ray makes them, one at a time."""

from __future__ import annotations

import ast
import difflib
import json
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from chaos.mutants.rooms import PRODUCT
from chaos.nightly.parts import code
from infra.layout import MUTANTS_VENV

_COSMIC_RAY = MUTANTS_VENV / "bin" / "cosmic-ray"
_CONFIG = """
[cosmic-ray]
module-path = {file}
timeout = 60.0
excluded-modules = []
test-command = "true"
[cosmic-ray.distributor]
name = "local"
"""


class Mutant(msgspec.Struct, frozen=True):
    """One change of one file, as cosmic-ray names it.

    Attributes:
        occurrence: where in the file the operator is applied: the n-th place.
    """

    file: str
    line: int
    operator: str
    occurrence: int


@dataclass(frozen=True)
class Tree:
    """A copy of a commit, in which files may be changed."""

    folder: Path

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[str]:
        """Apply a mutant, and take it back in the end; yield the difference.

        It is empty if the mutant is the same program: it differs in annotations of functions and
        of their variables only, which Python never evaluates in our modules. Or it is none at all:
        the `*` before parameters that are named is taken for an operator.
        """
        file = self.folder / mutant.file
        before = file.read_text(encoding="utf-8")
        try:
            _cosmic_ray(self.folder, "apply", mutant.file, mutant.operator, str(mutant.occurrence))
            after = file.read_text(encoding="utf-8")
            same = _computes(after) in (None, _computes(before))
            yield "" if same else _difference(mutant.file, before, after)
        finally:
            file.write_text(before, encoding="utf-8")
            self.forget(file)

    @contextmanager
    def patched(self, mutant: Mutant, difference: str) -> Iterator[bool]:
        """Apply a difference that was found earlier; yield whether its lines are still there."""
        file = self.folder / mutant.file
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        try:
            done = subprocess.run(
                ["git", "apply", "--unidiff-zero", "--recount", "-C1", "-"],
                input=difference,
                cwd=self.folder,
                text=True,
                check=False,
                capture_output=True,
            )
            self.forget(file)
            yield done.returncode == 0
        finally:
            if before:
                file.write_text(before, encoding="utf-8")
                self.forget(file)

    def forget(self, file: Path) -> None:
        """Delete what was compiled of a file, and the machine code of all loops beside it.

        Python would take the old code for that of a file that has the same size within a second,
        and machine code of other files may have been inlined.
        """
        cache = file.parent / "__pycache__"
        for old in (*cache.glob(f"{file.stem}.*.pyc"), *cache.glob("*.nb[ic]")):
            old.unlink()


@contextmanager
def copy_of(commit: str) -> Iterator[Tree]:
    """Provide a copy of a commit in a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    try:
        packed = folder / "commit.tar"
        subprocess.run(["git", "archive", "-o", str(packed), commit], check=True)
        subprocess.run(["tar", "-xf", str(packed), "-C", str(folder)], check=True)
        packed.unlink()
        yield Tree(folder)
    finally:
        shutil.rmtree(folder)


def drawn(tree: Tree, seed: str) -> Iterator[Mutant]:
    """Draw mutants without end: a file by its lines of code, a place in it, a change there.

    The same seed and the same files give the same mutants in the same order.
    """
    rng = random.Random(seed)
    files = sorted(
        file.relative_to(tree.folder).as_posix()
        for room in PRODUCT
        for file in (tree.folder / room).rglob("*.py")
    )
    lines = [len(code((tree.folder / file).read_bytes()).splitlines()) for file in files]
    places: dict[str, list[list[Mutant]]] = {}
    seen: set[Mutant] = set()
    while True:
        (file,) = rng.choices(files, lines)
        if file not in places:
            places[file] = _places(tree, file)
        if places[file]:
            mutant = rng.choice(rng.choice(places[file]))
            if mutant not in seen:
                seen.add(mutant)
                yield mutant


def _places(tree: Tree, file: str) -> list[list[Mutant]]:
    """Return the mutants of a file by the place that they change, in the order of places."""
    found: dict[tuple[int, int], list[Mutant]] = {}
    with tempfile.TemporaryDirectory() as folder:
        config, session = Path(folder) / "config.toml", Path(folder) / "session.sqlite"
        config.write_text(_CONFIG.format(file=json.dumps(file)), encoding="utf-8")
        _cosmic_ray(tree.folder, "init", str(config), str(session))
        for line in _cosmic_ray(tree.folder, "dump", str(session)).splitlines():
            (change,) = json.loads(line)[0]["mutations"]
            at = change["start_pos"]
            mutant = Mutant(file, at[0], change["operator_name"], change["occurrence"])
            found.setdefault(tuple(at), []).append(mutant)
    return [sorted(found[at], key=lambda m: (m.operator, m.occurrence)) for at in sorted(found)]


def _cosmic_ray(folder: Path, *arguments: str) -> str:
    command = [str(_COSMIC_RAY), *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def _computes(source: str) -> str | None:
    """Return what a module computes, without the annotations that are never evaluated.

    None: it is no module.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    if "from __future__ import annotations" in source:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for inner in ast.walk(node):
                    for name in {"annotation", "returns"} & {*inner._fields}:
                        setattr(inner, name, None)
    return ast.dump(tree)


def _difference(file: str, before: str, after: str) -> str:
    found = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        f"a/{file}",
        f"b/{file}",
        n=1,
    )
    return "".join(found)
