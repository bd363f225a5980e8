"""Files appear whole, together, or not at all; whatever goes wrong leaves the old ones alone."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from windowing.files import whole_files as module
from windowing.files.whole_files import WriteError, whole_file, whole_files


@pytest.fixture(params=["nameless", "named"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two old files, on systems with nameless files and on others."""
    if request.param == "named":
        monkeypatch.setattr(module, "_NAMELESS", 0)
    for name in ("one", "two"):
        (tmp_path / name).write_text("old")
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


OLD = {"one": "old", "two": "old"}


def write(folder: Path, text: bytes = b"new") -> None:
    with whole_files(folder / "one", folder / "two") as files:
        for file in files:
            file.write(text)
        assert {contents(folder)["one"], contents(folder)["two"]} == {"old"}


def test_they_appear_at_the_end(folder: Path) -> None:
    write(folder)
    assert contents(folder) == {"one": "new", "two": "new"}
    with whole_file(folder / "three") as file:
        file.write(b"more")
        assert "three" not in contents(folder)
    assert contents(folder) == {"one": "new", "two": "new", "three": "more"}


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_half_way_changes_nothing(folder: Path, kind: type[BaseException]) -> None:
    def half(folder: Path) -> None:
        with whole_files(folder / "one", folder / "new") as (one, _):
            one.write(b"half")
            raise kind

    with pytest.raises(kind):
        half(folder)
    assert contents(folder) == OLD


@contextmanager
def room_for(bytes_: int) -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("size", [100, 1_000_000])
def test_no_room_is_one_sentence_and_changes_nothing(folder: Path, size: int) -> None:
    says = "one and .*two: cannot be written: File too large; what was there before is unchanged"
    with room_for(50), pytest.raises(WriteError, match=says) as caught:
        write(folder, bytes(size))
    assert caught.value.exit_code == 1
    assert contents(folder) == OLD


def test_if_the_second_cannot_take_its_place_the_first_goes_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def stubborn(self: Path, target: Path) -> Path:
        if target.name == "two":
            raise PermissionError(1, "Operation not permitted", str(target))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", stubborn)
    with pytest.raises(WriteError, match="Operation not permitted"):
        write(folder)
    assert contents(folder) == OLD
    (folder / "one").unlink()
    with pytest.raises(WriteError), whole_files(folder / "one", folder / "two"):
        pass
    assert contents(folder) == {"two": "old"}


def test_a_folder_in_the_way(folder: Path) -> None:
    (folder / "two").unlink()
    (folder / "two").mkdir()
    with (
        pytest.raises(WriteError, match="Is a directory"),
        whole_files(folder / "one", folder / "two"),
    ):
        pass
    assert (folder / "one").read_text() == "old"


def test_links_and_modes_stay(folder: Path) -> None:
    (folder / "one").chmod(0o640)
    (folder / "link").symlink_to("one")
    with whole_file(folder / "link") as file:
        file.write(b"new")
    assert (folder / "link").is_symlink()
    assert contents(folder) == {"one": "new", "link": "new", "two": "old"}
    assert (folder / "one").stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_mode_of_any_new_file(folder: Path) -> None:
    before = os.umask(0o027)
    try:
        with whole_file(folder / "new"):
            pass
    finally:
        os.umask(before)
    assert (folder / "new").stat().st_mode & 0o777 == 0o640


def test_what_is_no_file_is_written_to_as_it_is() -> None:
    with (
        pytest.raises(WriteError, match="No space left on device"),
        whole_file(Path("/dev/full")) as file,
    ):
        file.write(b"x")
    assert Path("/dev/full").is_char_device()


def test_an_error_of_what_is_read_stays_its_own(folder: Path) -> None:
    with pytest.raises(FileNotFoundError), whole_file(folder / "one"):
        (folder / "nowhere" / "input").read_text()


def test_a_killed_process_leaves_nothing_behind(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from windowing.files.whole_files import whole_file\n"
        "with whole_file(Path(sys.argv[1])) as file:\n"
        "    file.write(b'half'); file.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script, str(tmp_path / "out")], check=False)
    assert ran.returncode == -9
    assert not contents(tmp_path)
