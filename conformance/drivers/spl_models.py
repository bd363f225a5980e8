"""Judge which configurations of Aggregate, Join and Sort our operators accept.

The configurations are written as the library's parameters; a field or value that is unknown here
makes the row not expressible, because it might be the one that matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from conformance.cases import Driver, NotExpressible, Verdict
from conformance.drivers.spl_windows import partition_eviction, policy
from conformance.spl import PolicyCase, ValidationCase
from windowing.engine.rows import operators
from windowing.engine.rows.operators import OperatorError, WindowClause
from windowing.engine.rows.operators.join import check_join
from windowing.engine.rows.policies import PolicyError, Profile, count
from windowing.model.operators.models import check_aggregate, check_join_window, check_sort

# The attributes of the stream in the rows, with their types; all are ordered.
_TYPES = {"id": "int", "k": "int", "g": "int", "v": "int", "ts": "timestamp", "f": "float"}
_NAMES = {
    "Aggregate": {"aggregateIncompleteWindows", "aggregatePartialWindows"}
    | {"aggregateEvictedPartitions"},
    "Sort": {"sortBy", "order"},
    "Join": {f"{name}{side}" for name in ("equality", "partitionBy") for side in ("LHS", "RHS")}
    | {"defaultTupleLHS", "defaultTupleRHS", "left", "right", "algorithm", "extra_output_ports"}
    | {"windows_partitioned"},
}
_OF_A_WINDOW = {"window", "eviction", "trigger", "partitionBy", "partition_eviction"}
_OF_A_WINDOW |= {"partitioned_keyword"}

REASONS = {
    "AGGREGATE_TUMBLING_AND_PARTIAL": "STDTK_AGGREGATE_TUMBLING_AND_INCOMPLETE",
    "AGGREGATE_SLIDING_AND_EVICTED": "STDTK_AGGREGATE_SLIDING_AND_EVICT",
    "JOIN_DEFAULTS": "STDTK_JOIN_UNEXPECTED_DEFAULT_TUPLE_SPECIFIED_FOR_JOIN",
    "JOIN_EQUALITY": "STDTK_INVALID_NUMBER_EXPNS",
    "JOIN_LEFT_SCHEMA": "STDTK_JOIN_INVALID_LEFT_OUTER_SCHEMA",
    "JOIN_OUTPUTS": "STDTK_JOIN_INVALID_NUMBER_OUTPUTS",
    "JOIN_RIGHT_SCHEMA": "STDTK_JOIN_INVALID_RIGHT_OUTER_SCHEMA",
    "JOIN_TRIGGER": "STDTK_INVALID_COUNT_BASED_TRIGGER_SIZE",
    "MISSING_PARTITIONED": "STDTK_MISSING_PARTITIONED_WINDOW_MODIFIER",
    "UNSUPPORTED_WINDOW": "STDTK_UNSUPPORTED_WINDOW_CONFIGURATION",
}
"""The library's identifiers of our reasons, as far as its recorded rows show them."""


class _UnknownError(Exception):
    """A field or value of a configuration that has no meaning here."""


def _run(case: ValidationCase) -> list[Verdict] | NotExpressible:
    try:
        return judge_validation(case)
    except _UnknownError as error:
        return NotExpressible(str(error))


MODELS = Driver("operators", _run)
"""The configurations that Aggregate, Join and Sort accept."""


def judge_validation(case: ValidationCase) -> list[Verdict]:
    """Check that each profile accepts or rejects a configuration as expected."""
    verdicts = []
    for profile in case.profiles:
        refused = refusal(case, Profile(profile))
        wanted = "accepted" if case.accepted else f"rejected ({case.reason})"
        difference = None
        if (refused is None) != case.accepted:
            difference = f"expected {wanted}, got {_described(refused)}"
        verdicts.append(Verdict(case.id, f"operators, {profile}", difference))
    return verdicts


def _described(refused: PolicyError | None) -> str:
    if refused is None:
        return "accepted"
    reason = refused.reason if isinstance(refused, OperatorError) else ""
    return f"rejected ({REASONS.get(reason, reason)}): {refused}"


def refusal(case: ValidationCase, profile: Profile) -> PolicyError | None:
    """Return why a configuration is rejected under a profile; None: it is accepted."""
    config = case.config
    known = _NAMES[case.operator] | {"note"}
    known |= set() if case.operator == "Join" else _OF_A_WINDOW
    if unknown := sorted(config.keys() - known):
        msg = f"the configuration has {', '.join(unknown)}, which {case.operator} has not here"
        raise _UnknownError(msg)
    try:
        if case.operator == "Join":
            _check_join(config, profile)
        elif case.operator == "Aggregate":
            _check_aggregate(config)
        else:
            _check_sort(config, profile)
    except PolicyError as error:
        return error
    return None


def _check_aggregate(config: Mapping[str, Any]) -> None:
    partial = config.get("aggregatePartialWindows", config.get("aggregateIncompleteWindows"))
    check_aggregate(_window(config), partial, config.get("aggregateEvictedPartitions"))


def _check_sort(config: Mapping[str, Any], profile: Profile) -> None:
    by = config.get("sortBy", ["v"])
    _types(by)
    check_sort(_window(config), by, config.get("order", ["ascending"]), profile)


def _window(config: Mapping[str, Any]) -> WindowClause:
    by, evicts = config.get("partitionBy"), config.get("partition_eviction")
    if config.get("partitioned_keyword", bool(by)) != bool(by):
        msg = "partitionBy and `partitioned` go together: give both or neither"
        raise OperatorError("MISSING_PARTITIONED", msg)
    trigger = config.get("trigger")
    kind = _kind(config["window"])
    return WindowClause(
        kind,
        _policy(config["eviction"]),
        _trigger(trigger) if kind == "sliding" else None,
        tuple(by or ()),
        partition_eviction(PolicyCase(kind=evicts, size=1)) if evicts else None,
    )


def _kind(text: str) -> Literal["tumbling", "sliding"]:
    if text == "tumbling":
        return "tumbling"
    if text == "sliding":
        return "sliding"
    msg = f"a window of kind {text!r}"
    raise _UnknownError(msg)


def _trigger(text: str | None) -> Any:
    """Return a trigger; a clause without one reports at every tuple."""
    return count(1) if text is None else _policy(text)


def _policy(text: str) -> Any:
    """Parse a policy of a configuration: `count`, `count(1)`, `delta`."""
    kind, _, size = text.rstrip(")").partition("(")
    try:
        return policy(PolicyCase.model_validate({"kind": kind, "size": size or 1, "attr": "ts"}))
    except PolicyError:
        raise
    except ValueError:
        msg = f"the policy {text!r}"
        raise _UnknownError(msg) from None


def _types(names: Sequence[str]) -> list[str]:
    if unknown := sorted(set(names) - _TYPES.keys()):
        msg = f"the type of {', '.join(unknown)}"
        raise _UnknownError(msg)
    return [_TYPES[name] for name in names]


# --- Join ---------------------------------------------------------------------------------------


def _check_join(config: Mapping[str, Any], profile: Profile) -> None:
    sides = [_side(config.get(side, "sliding count count(1)")) for side in ("left", "right")]
    for window, side in zip(sides, ("left", "right"), strict=True):
        check_join_window(window, side)
    kind = operators.JoinKind(config.get("algorithm", "inner"))
    equal = (config.get("equalityLHS") or [], config.get("equalityRHS") or [])
    schemas = config.get("extra_output_ports") or []
    defaults = {
        side: dict.fromkeys(_TYPES, 0)
        for name, side in (("defaultTupleLHS", "left"), ("defaultTupleRHS", "right"))
        if config.get(name)
    }
    both = (sides[0], sides[1])
    check_join(both, kind, equal, profile, extra_ports=len(schemas), defaults=defaults)
    if _types(equal[0]) != _types(equal[1]):
        raise OperatorError("JOIN_EQUALITY_TYPES", "types of the two equality lists differ")
    _check_schemas(kind, schemas)
    _check_partitions(config, profile)


def _check_schemas(kind: operators.JoinKind, schemas: Sequence[str]) -> None:
    sides = [side for side, outer in zip(("left", "right"), kind.outer_sides, strict=True) if outer]
    for side, schema in zip(sides, schemas, strict=False):
        if schema != f"{side} schema":
            msg = f"the port for unmatched tuples of the {side} side has another schema: {schema}"
            raise OperatorError(f"JOIN_{side.upper()}_SCHEMA", msg)


def _check_partitions(config: Mapping[str, Any], profile: Profile) -> None:
    by = [config.get(name) for name in ("partitionByLHS", "partitionByRHS")]
    partitioned = {
        "matching": [bool(names) for names in by],
        "neither": [False, False],
        "none": [False, False],
        "both": [True, True],
    }.get(config.get("windows_partitioned", "matching"))
    if partitioned is None:
        msg = f"windows_partitioned: {config['windows_partitioned']!r}"
        raise _UnknownError(msg)
    if partitioned != [bool(names) for names in by]:
        msg = "partitionBy and `partitioned` go together: give both or neither, on each side"
        raise OperatorError("MISSING_PARTITIONED", msg)
    left, right = by
    if profile is Profile.paper and isinstance(left, list) and isinstance(right, list):
        types = _types(left), _types(right)
        if left and right and types[0] != types[1]:
            msg = "partition types of the two ports differ"
            raise OperatorError("JOIN_PARTITIONS", msg)


def _side(text: str) -> WindowClause:
    kind, *policies = text.split()
    if not 1 <= len(policies) <= 2:
        msg = f"the window {text!r}"
        raise _UnknownError(msg)
    if _kind(kind) == "tumbling":
        return WindowClause("tumbling", _policy(policies[0]))
    return WindowClause("sliding", _policy(policies[0]), _trigger((*policies[1:], None)[0]))
