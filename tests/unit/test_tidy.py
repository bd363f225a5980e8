"""The rules of style that a linter does not know, and the claims that documents make of the tree.

A rule that stands in a document and is checked by nobody is soon untrue; these are checked.
"""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[2]

MODULE_LINES, TEST_MODULE_LINES, FUNCTION_LINES, LINE_WIDTH = 400, 550, 60, 100
LIBRARY_ROOMS = 8
PRODUCT = {"windowing", "jobs", "chaos", "conformance", "infra", "slackwater", "dags", "benchmarks"}

_VAGUE = re.compile(r"utils?|helpers?|misc|common", re.IGNORECASE)
_MANAGER = re.compile(r"Manager$|Helper$|Utils?$")
# What makes a result depend on more than the log. `random.Random(seed)` is allowed.
_IMPURE = {
    *("time.time", "time.time_ns", "time.monotonic", "time.perf_counter", "time.sleep"),
    *("datetime.now", "datetime.utcnow", "datetime.today", "date.today"),
    *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.date.today"),
    *("uuid.uuid1", "uuid.uuid4", "os.urandom", "secrets.token_hex", "secrets.token_bytes"),
    *("asyncio.sleep", "numpy.random", "np.random"),
}
_SAFE_RANDOM = {"random.Random"}
_DOTTED = re.compile(r"[\w.]+")

# A home or work folder of some machine; `/tmp` and system folders mean the same everywhere.
_MACHINE_PATH = re.compile(r"(?<![\w.}~-])/(?:home|Users|root|work|workspace|mnt|data)/[\w.-]+")
# The only hosts that any file may name: this machine's, and those of XML name spaces.
_HOSTS = {"127.0.0.1", "localhost", "maven.apache.org", "www.w3.org"}
_HOSTS |= {"airflow-api-server", "spark-master"}  # services of docker-compose.yml
_ADDRESS = re.compile(r"\b(?:https?|git|ssh)://(?:[^\s/@\"']*@)?([A-Za-z0-9.-]+)")
_INDEX = re.compile(r"--(?:extra-)?index-url|--find-links")
_ADR_NAME = re.compile(r"`([\w/]+/adr/\d{4}-[\w-]+\.md)`")


# Who may know a particular sink; the second line measures or replaces parts of the table sink.
_SINK_ROOMS = ("windowing/spark/sinks/", "windowing/model/sinks.py", "chaos/readers/", "infra/")
_SINK_ROOMS += ("benchmarks/", "chaos/planted_bugs/", "chaos/simulator/platform/")
_SINK_MODULES = re.compile(
    r"psycopg|windowing\.spark\.sinks\.(table|postgres\w*)|chaos\.readers\.(delta|table|postgres)"
)
_SINK_NAMES = {"TableSink", "PostgresSink"}
# `verify --postgres` reads the tables of the sink with this key.
_SINK_OPTIONS = {("slackwater/verify.py", "postgres")}


@cache
def tracked() -> tuple[Path, ...]:
    """The files of the repository, relative to its root: what is in git, or would be added."""
    listing = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    found = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = (Path(name) for name in found.split("\0") if name)
    return tuple(sorted(path for path in files if (ROOT / path).is_file()))


def modules() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".py"]


def texts() -> Iterator[tuple[Path, str]]:
    """Text files that people write; recorded data and locks are made by programs."""
    for path in tracked():
        if path.suffix in {".png", ".jsonl", ".txt", ".xz"} or path == Path(
            "tests/unit/test_tidy.py"
        ):
            continue
        yield path, (ROOT / path).read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), str(path))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def traces_of_a_machine(text: str) -> bool:
    """Whether a line names a folder of some machine, a package index, or a foreign host."""
    foreign = set(_ADDRESS.findall(text)) - _HOSTS
    return bool(foreign or _MACHINE_PATH.search(text) or _INDEX.search(text))


def impure_calls(source: ast.Module) -> list[tuple[int, str]]:
    """Lines that read a clock, sleep, or draw unseeded random numbers, under any import name."""
    names = {}
    for node in ast.walk(source):
        if isinstance(node, ast.Import):
            names.update({a.asname or a.name: a.name for a in node.names})
        elif isinstance(node, ast.ImportFrom):
            names.update({a.asname or a.name: f"{node.module}.{a.name}" for a in node.names})
    found = []
    for node in ast.walk(source):
        if isinstance(node, ast.Attribute | ast.Name) and _DOTTED.fullmatch(ast.unparse(node)):
            head, _, rest = ast.unparse(node).partition(".")
            full = names.get(head, head) + (f".{rest}" if rest else "")
            unseeded = full.startswith("random.") and full not in _SAFE_RANDOM
            if full in _IMPURE or unseeded:
                found.append((node.lineno, full))
        elif isinstance(node, ast.Call) and ast.unparse(node) in {"random.Random()", "Random()"}:
            found.append((node.lineno, "random.Random without a seed"))
    return found


@pytest.mark.parametrize(
    ("code", "guilty"),
    [
        ("import time\ntime.time()", True),
        ("from time import sleep as wait\nwait(1)", True),
        ("import datetime as dt\ndt.datetime.now()", True),
        ("import random\nrandom.shuffle([])", True),
        ("import random\nrandom.Random().random()", True),
        ("import random\nrandom.Random(7).shuffle([])", False),
        ("from datetime import datetime\ndatetime.fromisoformat('2013-01-01')", False),
    ],
)
def test_the_search_for_impure_calls_finds_them(code: str, guilty: bool) -> None:
    assert bool(impure_calls(ast.parse(code))) == guilty


def test_modules_are_short() -> None:
    too_long = {}
    for path in modules():
        limit = TEST_MODULE_LINES if path.parts[0] == "tests" else MODULE_LINES
        lines = (ROOT / path).read_text(encoding="utf-8").count("\n")
        if lines > limit:
            too_long[str(path)] = lines
    assert not too_long, f"split them: {too_long}"


def test_functions_are_short() -> None:
    too_long = [
        f"{path}:{node.lineno} {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for path in modules()
        for node in functions(tree_of(path))
        if node.end_lineno is not None and node.end_lineno - node.lineno >= FUNCTION_LINES
    ]
    assert not too_long


def sinks_named(tree: ast.AST) -> Iterator[str]:
    """Where a module names a particular sink, except in longer texts."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                yield from (one.name for one in names if one.name in _SINK_NAMES)
                if _SINK_MODULES.fullmatch(module):
                    yield module
            case ast.Import(names=names):
                yield from (one.name for one in names if _SINK_MODULES.fullmatch(one.name))
            case ast.Constant(value="postgres"):
                yield "postgres"
            case (
                ast.Compare(left=ast.Attribute(value=of, attr="kind"))
                | ast.Match(subject=ast.Attribute(value=of, attr="kind"))
            ) if ast.unparse(of).endswith("destination"):
                yield ast.unparse(of) + ".kind"


@pytest.mark.parametrize(
    ("code", "guilty"),
    [
        ("from windowing.spark.sinks.postgres import PostgresSink", True),
        ("from windowing.spark.sinks import TableSink", True),
        ("import psycopg", True),
        ("kinds = {'postgres': 1}", True),
        ("if pipeline.destination.kind == 'table': pass", True),
        ("if pipeline.destination.kind in ('lines', 'table'): pass", True),
        ("match destination.kind:\n  case 'table': pass", True),
        ("from windowing.spark.sinks import sink_of", False),
        ("found = SINKS[pipeline.destination.kind]", False),
        ("message = 'sink: {postgres: NAME}'", False),
    ],
)
def test_the_search_for_sinks_finds_them(code: str, guilty: bool) -> None:
    assert any(sinks_named(ast.parse(code))) == guilty


def test_only_the_rooms_of_sinks_know_which_there_are() -> None:
    """A new sink is a writer, its rules and its readers; everybody else finds them by its key."""
    found = {
        (str(path), name)
        for path in modules()
        if path.parts[0] != "tests" and not str(path).startswith(_SINK_ROOMS)
        for name in sinks_named(ast.parse((ROOT / path).read_text(encoding="utf-8")))
    }
    assert found == _SINK_OPTIONS


def test_the_library_has_few_rooms() -> None:
    """Each is a wall that somebody has to know; another one must be worth it."""
    rooms = {path.parts[1] for path in modules() if path.parts[0] == "windowing" and path.parts[2:]}
    assert {"model", "engine", "semantics", "runtime", "spark"} <= rooms
    assert len(rooms) <= LIBRARY_ROOMS


def test_the_root_of_the_library_holds_rooms_only() -> None:
    stray = [str(p) for p in modules() if p.parts[0] == "windowing" and not p.parts[2:]]
    assert stray == ["windowing/__init__.py"]


def test_the_linter_watches_the_width_of_lines() -> None:
    ruff = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]
    assert ruff["line-length"] <= LINE_WIDTH
    assert "E" in ruff["lint"]["select"]
    assert "E501" not in ruff["lint"]["ignore"]
    assert not [codes for codes in ruff["lint"]["per-file-ignores"].values() if "E501" in codes]


def name_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_by(module: str, source: ast.Module, known: set[str]) -> set[str]:
    """Modules that one imports anywhere: at its top, in functions, for its annotations."""
    found = set()
    for node in ast.walk(source):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}: relative imports are not followed here"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names
            if names - known:
                found.add(str(node.module))
    return found & known


def circles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the shortest circle through each module that is in one."""
    found = []
    for start in imports:
        paths, seen = [[start]], set[str]()
        for path in paths:
            for after in sorted(imports[path[-1]] - seen):
                seen.add(after)
                paths.append([*path, after])
        circle = next((path for path in paths[1:] if path[-1] == start), None)
        if circle is not None:
            found.append(circle)
    return found


@pytest.mark.parametrize(
    ("sources", "members"),
    [
        ({"a": "import b", "b": "import c", "c": ""}, set()),
        ({"a": "import b", "b": "import c", "c": "import b"}, {"b", "c"}),
        ({"a": "def f():\n    from b import g", "b": "from a import f"}, {"a", "b"}),
        ({"a": "if TYPE_CHECKING:\n    from b import B", "b": "from a import A"}, {"a", "b"}),
        ({"p": "from p.a import f", "p.a": "from p.b import g", "p.b": ""}, set()),
        ({"p": "from p.a import f", "p.a": "from p import g", "p.b": ""}, {"p", "p.a"}),
        ({"p": "from p.a import f", "p.a": "from p import b", "p.b": ""}, set()),
        ({"a": "from a import f"}, {"a"}),
    ],
)
def test_the_search_for_circles_finds_them(sources: dict[str, str], members: set[str]) -> None:
    known = {*sources}
    imports = {name: imported_by(name, ast.parse(text), known) for name, text in sources.items()}
    assert {name for circle in circles(imports) for name in circle} == members


def test_no_module_imports_itself_by_others() -> None:
    """Not at its top, not in functions, and not for annotations either."""
    sources = {name_of(path): tree_of(path) for path in modules() if path.parts[0] in PRODUCT}
    imports = {name: imported_by(name, source, {*sources}) for name, source in sources.items()}
    found = circles(imports)
    assert not found, "\n".join(" -> ".join(circle) for circle in found)


def test_names_say_what_a_thing_is() -> None:
    vague = [str(path) for path in modules() if _VAGUE.fullmatch(path.stem)]
    vague += [str(p) for p in modules() if any(_VAGUE.fullmatch(part) for part in p.parts[:-1])]
    vague += [
        f"{path}:{node.lineno} class {node.name}"
        for path in modules()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef) and _MANAGER.search(node.name)
    ]
    assert not vague


def test_the_runtime_reads_no_clock_and_draws_nothing() -> None:
    core = [p for p in modules() if p.parts[0] == "windowing" and p.parts[1] != "spark"]
    assert len(core) > 20, "the search looks in the wrong place"
    found = [f"{path}:{line} {what}" for path in core for line, what in impure_calls(tree_of(path))]
    assert not found


def test_public_modules_say_what_they_are() -> None:
    silent = [
        str(path)
        for path in modules()
        if path.parts[0] != "tests" and not ast.get_docstring(tree_of(path))
    ]
    assert not silent


def paths_named_in(document: str) -> set[str]:
    """Everything in backticks, or linked, that is spelled like a path of the repository."""
    text = re.sub(r"```.*?```", "", (ROOT / document).read_text(encoding="utf-8"), flags=re.DOTALL)
    spelled = set(re.findall(r"`([\w.-]+(?:/[\w.-]*)+)`", text))
    tops = {path.parts[0] for path in tracked()}
    named = {name for name in spelled if name.split("/")[0] in tops}
    links = re.findall(r"\]\(([^)#]+)\)", text)
    return named | {link for link in links if not link.startswith("http")}


@pytest.mark.parametrize("document", ["README.md", "ARCHITECTURE.md"])
def test_paths_that_documents_name_exist(document: str) -> None:
    named = paths_named_in(document)
    assert named
    assert not {name for name in named if not (ROOT / name).exists()}


def anchors_of(text: str) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_documents_lead_somewhere() -> None:
    broken = []
    for path in (path for path in tracked() if path.suffix == ".md"):
        text = (ROOT / path).read_text(encoding="utf-8")
        for link, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
            if "://" in link:
                continue
            target = ROOT / path.parent / link if link else ROOT / path
            if not target.exists():
                broken.append(f"{path}: {link}")
            elif anchor and anchor not in anchors_of(target.read_text(encoding="utf-8")):
                broken.append(f"{path}: {link}#{anchor}")
    assert not broken


def test_every_top_folder_is_on_the_map() -> None:
    named = paths_named_in("ARCHITECTURE.md")
    tops = {path.parts[0] for path in tracked() if len(path.parts) > 1}
    assert not {f"{top}/" for top in tops if not top.startswith(".")} - named


def test_the_map_and_the_tree_have_the_same_decisions() -> None:
    named = set(_ADR_NAME.findall((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")))
    assert named == {str(path) for path in tracked() if path.parent.name == "adr"}


def commands_of_readme() -> dict[str, set[str]]:
    """The commands that README.md names, each with the options that it shows."""
    shown: dict[str, set[str]] = {}
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, rest in re.findall(r"(?:`|^)slackwater +([a-z-]+)([^`\n]*)", text, re.MULTILINE):
        shown.setdefault(name, set()).update(re.findall(r"--[a-z-]+", rest))
    return shown


def options_of(command: Any) -> set[str]:
    """The options of a command, or of all commands of a group."""
    below = getattr(command, "commands", {}).values()
    own = {option for parameter in command.params for option in parameter.opts}
    return own.union(*map(options_of, below))


def test_the_commands_of_the_readme_exist() -> None:
    from slackwater.main import app

    group = get_command(app)
    existing = {
        name: options_of(command)
        for name, command in group.commands.items()  # type: ignore[attr-defined]
    }
    shown = commands_of_readme()
    assert {"run", "verify", "explain", "demo"} <= shown.keys()
    assert not shown.keys() - existing.keys()
    unknown = {name: used - existing[name] for name, used in shown.items()}
    assert not {name: options for name, options in unknown.items() if options}


def test_every_command_stands_in_the_readme() -> None:
    from slackwater.main import app

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = get_command(app).commands  # type: ignore[attr-defined]
    assert not {name for name in commands if not re.search(rf"`(?:slackwater )?{name}\b", text)}


def test_the_targets_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    for document in ("README.md", "tests/README.md", "infra/README.md", "ARCHITECTURE.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        assert set(re.findall(r"(?:`|^)make ([a-z-]+)", text, flags=re.MULTILINE)) <= targets


def test_the_example_of_the_readme_is_the_recorded_case() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    case = ROOT / "tests/data/pipelines/late-update-generous/pipeline.yml"
    shown = re.search(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    assert shown is not None
    assert case.read_text(encoding="utf-8").endswith(shown[1])


def test_the_readme_shows_what_its_first_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from slackwater.main import app

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```sh\n(pip install .*?)```\n\n```\n(.*?)```", text, flags=re.DOTALL)
    assert shown is not None
    _, case, *commands = shown[1].splitlines()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    printed = ""
    for line in commands:
        words = line.replace("$CASE", case.removeprefix("CASE=")).split()
        if words[0] == "head":
            printed += "".join(Path(words[3]).read_text(encoding="utf-8").splitlines(True)[:2])
        else:
            ran = CliRunner().invoke(app, words[1:])
            assert ran.exit_code == 0
            printed += ran.stdout
    assert printed == shown[2]


def test_the_example_of_the_runtime_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "windowing/README.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert example is not None
    assert "assert" in example[1]
    monkeypatch.chdir(ROOT)
    exec(compile(example[1], "windowing/README.md", "exec"), {})  # noqa: S102 - our own document


@pytest.mark.parametrize(
    ("text", "guilty"),
    [
        ("see /home/ann/slackwater", True),
        ("root = '/Users/ann/x'", True),
        ("`/work/main` is it", True),
        ("pip --index-url x", True),
        ("https://packages.example.com/simple", True),
        ("https://user:word@packages.example.com/simple", True),
        ("{state}/work/x", False),
        ("spark/work-1/driver", False),
        ("http://127.0.0.1:8080/dags", False),
    ],
)
def test_the_search_for_traces_of_a_machine_finds_them(text: str, guilty: bool) -> None:
    assert traces_of_a_machine(text) == guilty


def test_no_trace_of_a_machine_or_a_registry() -> None:
    found = []
    for path, text in texts():
        for number, line in enumerate(text.split("\n"), 1):
            # The licence is a text of its own, which nobody may change.
            if traces_of_a_machine(line) and path.name != "LICENSE":
                found.append(f"{path}:{number}: {line.strip()}")
    assert not found


def test_locks_hold_versions_and_hashes_and_no_addresses() -> None:
    locks = [path for path in tracked() if path.match("infra/requirements/*.txt")]
    assert locks
    for path in locks:
        text = (ROOT / path).read_text(encoding="utf-8")
        assert "://" not in text, path
        assert "--hash=sha256:" in text, path
