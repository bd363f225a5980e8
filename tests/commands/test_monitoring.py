"""The files of `infra/monitoring`, held against the endpoint and against a real Prometheus."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from infra.layout import ROOT
from infra.ports import free_port
from jobs.metrics.observer import Metrics, Place
from tests.unit.jobs.metrics.figures import pipeline, progress, written
from tests.unit.jobs.metrics.test_exposition import Query, two_batches

MONITORING = ROOT / "infra" / "monitoring"
FILES = sorted(path.name for path in MONITORING.iterdir() if path.suffix == ".yml")
NEEDS = "is not installed (Debian: apt-get install prometheus)"


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    return found


def expressions() -> list[str]:
    drawn = [target["expr"] for panel in panels() for target in panel["targets"]]
    groups = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    return drawn + [rule["expr"] for group in groups for rule in group["rules"]]


def promtool(*arguments: str) -> str:
    command = shutil.which("promtool")
    if command is None:
        pytest.skip(f"promtool {NEEDS}")
    done = subprocess.run([command, *arguments], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@contextmanager
def driver(folder: Path) -> Iterator[Metrics]:
    """A driver's metrics after two batches; who leaves has died."""
    at, of = ("127.0.0.1", 0), pipeline()
    place = Place("tide", "r1", folder, of.source, at, folder / "targets", windows=of)
    metrics = Metrics(place)
    metrics.begin()
    query = Query()
    two_batches(metrics, query)
    metrics.written(written(3, {1: (0, 2_000_000)}))
    query.recentProgress.append(progress(3, {"0": 9, "1": 4}))
    metrics.look(query)  # type: ignore[arg-type]
    try:
        yield metrics
    finally:
        metrics.close(OSError("killed"))


@contextmanager
def prometheus(folder: Path) -> Iterator[Callable[..., Any]]:
    """A real Prometheus with our files; yields its HTTP interface."""
    command = shutil.which("prometheus")
    if command is None:
        pytest.skip(f"prometheus {NEEDS}")
    settings = yaml.safe_load((MONITORING / "prometheus.yml").read_text())
    [found] = settings["scrape_configs"][0]["file_sd_configs"]
    found |= {"files": [str(folder / "targets" / "*.json")], "refresh_interval": "1s"}
    settings["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(settings))
    shutil.copy(MONITORING / "alerts.yml", folder)
    base = f"http://127.0.0.1:{free_port()}"

    def ask(path: str, **parameters: str) -> Any:
        answer = httpx.get(f"{base}/api/v1/{path}", params=parameters, trust_env=False)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    options = [f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'db'}"]
    options.append(f"--web.listen-address={base.removeprefix('http://')}")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([command, *options], stdout=log, stderr=log)
    try:
        # It answers everything else with 503 as well until it has opened its database.
        until(lambda: _ready(base), folder / "log")
        yield ask
    finally:
        process.terminate()
        process.wait(30)


def _ready(base: str) -> bool:
    try:
        return httpx.get(f"{base}/-/ready", trust_env=False).is_success
    except httpx.TransportError:
        return False  # it does not listen yet


def until(true: Callable[[], Any], log: Path) -> Any:
    give_up = time.monotonic() + 60
    while True:
        if found := true():
            return found
        assert time.monotonic() < give_up, log.read_text()
        time.sleep(0.2)


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("alerts")])
def test_the_rules_fire_when_they_should_and_else_not(name: str) -> None:
    kind = "test" if name.endswith("_test.yml") else "check"
    assert "SUCCESS" in promtool(kind, "rules", str(MONITORING / name))


@pytest.mark.parametrize("name", ["prometheus.yml", "composed.yml"])
def test_the_settings_are_valid(name: str) -> None:
    assert "is valid" in promtool("check", "config", str(MONITORING / name))


def test_dashboard_and_rules_ask_for_metrics_that_exist(tmp_path: Path) -> None:
    with driver(tmp_path) as metrics:
        known = {sample.name for family in metrics.registry.collect() for sample in family.samples}
    asked = {name for text in expressions() for name in re.findall(r"slackwater_\w+", text)}
    assert len(asked) > 10
    assert asked <= known
    assert len({panel["id"] for panel in panels()}) == len(panels())


def test_a_real_prometheus_finds_the_run_and_answers_every_panel(tmp_path: Path) -> None:
    with prometheus(tmp_path) as ask:
        log = tmp_path / "log"

        def value(query: str) -> dict[str, float]:
            found = ask("query", query=query)["result"]
            return {str(one["metric"].get("lane", "")): float(one["value"][1]) for one in found}

        with driver(tmp_path) as metrics:
            lanes = until(lambda: value('slackwater_records_total{pipeline="tide"}'), log)
            assert lanes == {"levels/0": 10, "levels/1": 5}
            assert value('up{job="slackwater",pipeline="tide",run="r1"}') == {"": 1}
            metrics.written(written(4, {0: (7, 9_000_000)}))
            query = Query()
            query.recentProgress.append(progress(4, {"0": 16, "1": 4}))
            metrics.look(query)  # type: ignore[arg-type]
            until(lambda: value("slackwater_records_total")["levels/0"] == 17, log)
            rules = ask("rules")["groups"][0]["rules"]
            assert {rule["health"] for rule in until(lambda: _evaluated(ask), log)} == {"ok"}
            assert len(rules) == 6
            empty = []
            for text in expressions():
                asked = text.replace("$pipeline", ".*").replace("$run", ".*")
                if not ask("query", query=asked)["result"]:
                    empty.append(text)
            drawn = [target["expr"] for panel in panels() for target in panel["targets"]]
            # Rates need more than a second's history.
            assert not [text for text in empty if text in drawn and "rate(" not in text]
        until(lambda: value('up{job="slackwater"}') == {"": 0}, log)


def _evaluated(ask: Callable[..., Any]) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = ask("rules")["groups"][0]["rules"]
    return rules if all(rule["health"] != "unknown" for rule in rules) else []
