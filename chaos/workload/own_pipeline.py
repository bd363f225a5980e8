"""A pipeline under a run's own names, so that other topics and tables are not affected."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from windowing.model import Pipeline, load_pipeline, parse_pipeline
from windowing.model.control import parse_control_rule
from windowing.model.file.yaml_lines import load, spell
from windowing.model.zones import Zone

_KEPT_OF_NAME = 120


def own_pipeline(
    file: Path,
    run: str,
    *,
    topic: str | None = None,
    shards: int | None = None,
    zones: Mapping[str, Zone] | None = None,
) -> Pipeline:
    """Return the pipeline of a file under a run's own name, with its own table and perhaps topic.

    Names do not affect rows, except for the topic's, which appears in dead letters and offsets.

    Args:
        run: suffix for the pipeline's name.
        topic: another log to read, whose lanes chaos ends itself, and so unsigned; None: the
            pipeline's. For a join: prefix of its topics' names.
        shards: another number of shards, which does not affect rows; None: the pipeline's.

        zones: tables of zones, for what is compared with a run that goes by them.

    Raises:
        PipelineError: the file breaks a rule.
    """
    original = load_pipeline(file).keeping_zones(zones)
    document = load(original.text)
    # The length of names is limited, and this one gets a suffix.
    document["name"] = f"{original.name[:_KEPT_OF_NAME]}-{run}"
    document["sink"] = {"table": document["name"]}
    document.pop("quality", None)
    if topic is not None and original.one_topic:
        _move(document["source"], topic)
    elif topic is not None:
        for side in ("left", "right"):
            source = document["join"][side]["source"]
            _move(source, f"{topic}-{source['topic']}")
    if shards is not None:
        document["shards"] = shards
    text = spell(document)
    return parse_pipeline(text, str(file))


def _move(source: dict[str, Any], topic: str) -> None:
    """Give a source another topic, and rename the lanes that it names accordingly.

    It believes at least bounds, which chaos sends, and no signatures, which name lanes, too.
    """
    old, source["topic"] = source["topic"], topic
    rule = parse_control_rule(source.get("control", "bounds"))
    if rule.believe == "none" or rule.key is not None:
        believe = "bounds" if rule.believe == "none" else rule.believe
        source["control"] = {"believe": believe, "queries": rule.queries}

    def moved(by_lane: dict[str, Any]) -> dict[str, Any]:
        pairs = ((str(lane), value) for lane, value in by_lane.items())
        # Through a YAML alias, names may already have been changed.
        return {n.replace(old, topic, 1) if n.startswith(f"{old}/") else n: v for n, v in pairs}

    if isinstance(source.get("joined"), dict):
        source["joined"] = moved(source["joined"])
    for generator in (source.get("disorder"), *(source.get("disorder_of") or {}).values()):
        if not isinstance(generator, dict):
            continue
        if isinstance(generator.get("heartbeat"), dict):
            generator["heartbeat"] = moved(generator["heartbeat"])
        per = generator.get("ordered_per")
        if isinstance(per, dict) and isinstance(per.get("members"), dict):
            per["members"] = moved(per["members"])
