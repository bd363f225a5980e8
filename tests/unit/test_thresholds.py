"""Numbers that decide between two ways are thresholds of `Tuning`, or facts, each with a reason.

A number decides if code of the engine, or of Spark, compares something with it, cuts a sample or a
batch by it, or takes it for the least or the most. Whoever adds one puts it into
`windowing/engine/tuning.py`, so that the simulator draws it (`windowing/adr/0056`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Set
from pathlib import Path

import pytest

from windowing.engine.tuning import LEGAL

WINDOWING = Path(__file__).resolve().parents[2] / "windowing"
FILES = sorted(path for room in ("engine", "spark") for path in (WINDOWING / room).rglob("*.py"))
SMALL = 2
"""Up to this one, numbers say whether there is one, or halve something."""

UNITS_OF_TIME = {1_000, 1_000_000}

FACTS = {
    ("engine/aggregates/exact.py", "BIN_BITS"): "the format of a partial state",
    ("engine/aggregates/exact.py", "half"): "half of a number of bits",
    ("engine/aggregates/sketches.py", "_hash"): "bits of a byte",
    ("engine/aggregates/sums.py", "of"): "a square of 128 bits has four limbs of 32",
    ("engine/aggregates/sums.py", "WIDE_LIMBS"): "a decimal of 128 bits has four limbs of 32",
    ("engine/convert.py", "_DIGITS"): "how much of a digest is shown",
    ("engine/early.py", "_NEVER"): "the largest integer of 64 bits",
    ("engine/families/grids.py", "FAR"): "no instant that is legal lies so far away",
    ("engine/aggregates/holdings.py", "_MSGPACK_BITS"): "the integers that msgpack has a type for",
    ("engine/aggregates/holdings.py", "_widened"): "the integers that msgpack has a type for",
    ("engine/loops/instants.py", "DIRECTIVE"): "what no byte of a format is",
    ("engine/loops/instants.py", "_DOUBTFUL"): "no instant that is legal",
    ("engine/loops/instants.py", "_MOST_DIGITS"): "what 64 bits hold",
    ("engine/loops/instants.py", "_digits"): "how numbers are written",
    ("engine/loops/instants.py", "_fraction"): "microseconds have six digits",
    ("engine/loops/instants.py", "_iso"): "ISO 8601",
    ("engine/loops/instants.py", "_moment"): "the calendar",
    ("engine/loops/instants.py", "_number"): "how numbers are written",
    ("engine/loops/shapes.py", "NULLABLE"): "a bit of a kind",
    ("engine/loops/shapes.py", "_DEPTH"): "the bits of an integer that remember brackets",
    ("engine/loops/views.py", "view"): "Arrow's string views",
    ("engine/reading/decoders/structs.py", "DEPTH_MAX"): "the contract's depth of JSON",
    ("engine/reading/expression_time.py", "_DIVISOR"): "nanoseconds in a microsecond",
    ("engine/reading/time_columns.py", "DOUBTFUL"): "no instant that is legal",
    ("engine/reading/time_columns.py", "_HOUR_US"): "microseconds in an hour",
    ("engine/reading/times.py", "_DIGITS"): "microseconds have six digits",
    ("engine/reading/times.py", "_calendar"): "the calendar",
    ("engine/reading/times.py", "_offset_us"): "ISO 8601",
    ("engine/aggregates/exact.py", "_LIMB_BITS"): "the bits of a limb",
    ("engine/reading/times.py", "iso_us"): "ISO 8601",
    ("engine/reading/times.py", "time_us"): "nanoseconds in a microsecond",
    ("engine/storage/formats.py", "_MARK"): "the first byte of a head",
    ("engine/storage/groups.py", "_INT64_MAX"): "the largest integer of 64 bits",
    ("engine/reading/decoders/json_objects.py", "decode_uniform"): "percent",
    ("engine/reading/expressions/arithmetic.py", "_OVER"): "beyond the range of 64 bits",
    ("engine/reading/expressions/arithmetic.py", "_SURE"): "within the range of 64 bits",
    ("engine/reading/expressions/casts.py", "_SHORT"): "digits that 64 bits hold",
    ("engine/reading/expressions/casts.py", "_days"): "the calendar",
    ("engine/reading/expressions/casts.py", "_exactly"): "half of ten",
    ("engine/reading/expressions/casts.py", "_read_instants"): "ISO 8601",
    ("engine/reading/expressions/decimals.py", "_EXACT"): "the digits of a double",
    ("engine/reading/expressions/decimals.py", "_EXACT_TENS"): "the digits of a double",
    ("engine/reading/expressions/decimals.py", "_TENS"): "digits that 64 bits hold",
    ("engine/reading/expressions/decimals.py", "nearest_whole"): "the range of doubles",
    ("engine/reading/expressions/instants.py", "DAY_US"): "the calendar",
    ("engine/reading/expressions/instants.py", "_END_US"): "the calendar",
    ("engine/reading/expressions/instants.py", "_FIRST_US"): "the calendar",
    ("engine/reading/expressions/instants.py", "_day_of_year"): "the calendar",
    ("engine/reading/expressions/instants.py", "_year"): "the calendar",
    ("engine/reading/expressions/instants.py", "week"): "the calendar",
    ("engine/reading/expressions/texts.py", "_FAR"): "no text is so long",
    ("engine/reading/expressions/whole.py", "_WORD"): "the bits of a word",
    ("engine/reading/expressions/whole.py", "of_words"): "the bits of a word",
    ("engine/zones.py", "_CYCLES"): "up to the year 10000",
    ("engine/reading/refusals.py", "VALUE_MAX"): "how much of a value a dead letter shows",
    ("engine/reading/refusals.py", "shown"): "a character of UTF-8 has four bytes at the most",
    ("engine/reading/decoders/layout.py", "NULLABLE"): "a bit of a kind",
    ("engine/reading/objects.py", "DEPTH_MAX"): "how deep a legal value may be",
    ("engine/reading/objects.py", "_integer"): "beyond all doubles",
    ("engine/loops/ready.py", "_read_shapes"): "arrays that are only there to compile loops for",
    ("engine/loops/shapes.py", "_character"): "RFC 3629, section 4",
    ("engine/loops/shapes.py", "_number"): "the bit between e and E",
    ("engine/loops/shapes.py", "_text"): "the last character of ASCII",
    ("engine/rows/flows/stores.py", "candidates"): "the range of 64 bits",
    ("engine/rows/join_course.py", "_window"): "columns of a table",
    ("engine/rows/policies/partitions.py", "_SECOND_US"): "a second",
    ("spark/sinks/data_files.py", "_FIRST_MS"): "the first instant of Delta's statistics",
    ("spark/sinks/data_files.py", "_LAST_MS"): "the last one",
    ("spark/sinks/data_files.py", "_bounds"): "least, most, missing",
    ("spark/sinks/postgres.py", "_records"): "how much of a digest names a row",
    ("spark/sinks/postgres_tables.py", "_NAME_BYTES"): "PostgreSQL's longest name",
}
LEFT_OUT = {"engine/tuning.py"}
"""The thresholds themselves."""

_CUTS = {"min", "max", "range", "islice", "clip"}
_CUTS |= {"head", "tail", "limit", "slice", "sample", "gather_every", "iter_slices"}


def steering(text: str, elsewhere: frozenset[str] = frozenset()) -> set[str]:
    """The names of numbers that decide, or of the functions in which a literal does.

    Args:
        text: of a module.
        elsewhere: names of numbers that it may have imported.
    """
    tree = ast.parse(text)
    named = elsewhere
    while more := {name for node in ast.walk(tree) for name in _numbers(node, named)} - named:
        named |= more
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {
        found
        for function in functions
        for node in ast.walk(function)
        for part in _deciding(node)
        for found in _found(part, named, function.name)
    }


def _numbers(node: ast.AST, known: Set[str]) -> Iterator[str]:
    """Yield the names that an assignment, or a parameter's default, gives to numbers.

    Args:
        node: of a module.
        known: names of other numbers.
    """
    pairs: list[tuple[ast.AST, ast.expr]] = []
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            pairs += zip(names, values, strict=True)
        case ast.Assign(targets=targets, value=value):
            pairs += [(target, value) for target in targets]
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            pairs.append((target, value))
        case ast.arguments():
            names, defaults = [*node.posonlyargs, *node.args], node.defaults
            pairs += zip(names[len(names) - len(defaults) :], defaults, strict=True)
            given = zip(node.kwonlyargs, node.kw_defaults, strict=True)
            pairs += [(name, value) for name, value in given if value is not None]
    for name, value in pairs:
        if _is_number(value, known):
            yield from (getattr(name, key) for key in ("id", "attr", "arg") if hasattr(name, key))


_NUMBER = (
    *(ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop),
    *(ast.Call, ast.keyword, ast.Attribute, ast.Name, ast.Load),
)
_OF_A_TYPE = re.compile(r"np\.\w+|timedelta|int|float")


def _is_number(node: ast.expr, known: Set[str]) -> bool:
    """Whether an expression is a number, of any type, that is not small."""
    parts = [*ast.walk(node)]
    numbers = [one.value for one in parts if isinstance(one, ast.Constant)]
    calls = [ast.unparse(one.func) for one in parts if isinstance(one, ast.Call)]
    if not all(isinstance(one, _NUMBER) for one in parts):
        return False
    names = {one.id for one in parts if isinstance(one, ast.Name)} - {"np", "timedelta"}
    if not all(map(_OF_A_TYPE.fullmatch, calls)) or not names <= known:
        return False
    is_large = any(isinstance(one, int | float) and abs(one) > SMALL for one in numbers)
    return is_large or bool(names) or "np.iinfo" in calls


def _deciding(node: ast.AST) -> list[ast.expr]:
    """Return the parts of an expression whose value decides."""
    match node:
        case ast.Compare():
            return [node.left, *node.comparators]
        case ast.Slice():
            return [part for part in (node.lower, node.upper, node.step) if part is not None]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _CUTS:
            return [*node.args, *(one.value for one in node.keywords)]
        case ast.BinOp(op=ast.FloorDiv()):
            return [node.right]
    return []


def _found(part: ast.expr, named: Set[str], function: str) -> Iterator[str]:
    for one in ast.walk(part):
        match one:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in named:
                yield name
            case ast.Constant(value=int() | float() as value) if abs(value) > SMALL:
                if value not in UNITS_OF_TIME:
                    yield function


def all_steering() -> set[tuple[str, str]]:
    texts = {path: path.read_text(encoding="utf-8") for path in FILES}
    constants = {
        name
        for text in texts.values()
        for node in ast.parse(text).body
        for name in _numbers(node, set())
    }
    found = set()
    for path, text in texts.items():
        imported = {
            alias.name
            for node in ast.parse(text).body
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("windowing.")
            for alias in node.names
        }
        place = str(path.relative_to(WINDOWING))
        found |= {(place, name) for name in steering(text, frozenset(imported & constants))}
    return {(place, name) for place, name in found if place not in LEFT_OUT}


def test_numbers_that_decide_are_thresholds_or_facts() -> None:
    assert all_steering() - FACTS.keys() == set(), "put it into windowing/engine/tuning.py"


def test_the_list_of_facts_has_nothing_else() -> None:
    assert FACTS.keys() - all_steering() == set()


def test_every_threshold_is_read_somewhere() -> None:
    read = "\n".join(path.read_text(encoding="utf-8") for path in FILES if path.name != "tuning.py")
    assert [name for name in LEGAL if f".{name}" not in read] == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("_FEW = 100\ndef f(rows):\n  return len(rows) < _FEW", "_FEW"),
        ("_FEW: Final = np.uint64(1 << 9)\ndef f(rows):\n  return rows < _FEW", "_FEW"),
        ("_A, _B = 3, 0.75\ndef f(rows):\n  return rows > _B * 2 or rows > _A", "_A"),
        ("def f(rows):\n  return rows[:64]", "f"),
        ("def f(rows):\n  return rows.iter_slices(500_000)", "f"),
        ("def f(rows):\n  for row in range(0, len(rows), 16): pass", "f"),
        ("def f(rows):\n  return rows.gather_every(len(rows) // 32)", "f"),
        ("def f(rows, most=100):\n  return len(rows) > most", "most"),
        ("def f(rows, *, most=100):\n  return len(rows) > most", "most"),
        ("class A:\n  most: int = 9\n  def f(self, rows):\n    return rows > self.most", "most"),
        ("def f(self):\n  self.few = 4\ndef g(self, rows):\n  return rows < self.few", "few"),
        ("_B = 32\n_S = 1 << (_B - 1)\ndef f(rows):\n  return rows > _S", "_S"),
        ("_B = 64\ndef f(rows):\n  room = _B\n  return rows > room", "room"),
        ("_B = 8\ndef f(rows, few=_B):\n  return rows < few", "few"),
        ("def f(rows):\n  return len(rows) <= np.iinfo(np.uint16).max // 8", "f"),
    ],
)
def test_a_new_number_that_decides_is_found(text: str, named: str) -> None:
    assert named in steering(text)


@pytest.mark.parametrize(
    "text",
    [
        "def f(rows):\n  return len(rows) > 1",
        "def f(rows):\n  return rows < tuning().few",
        "def f(us):\n  return us // 1_000_000",
        "_KINDS = {'a': 7}\ndef f(kind):\n  return kind in _KINDS",
        "_BITS = 32\ndef f(value):\n  return value << _BITS",
    ],
)
def test_other_numbers_are_left_alone(text: str) -> None:
    assert not steering(text)
