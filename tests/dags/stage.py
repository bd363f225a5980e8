"""A running Airflow, the cluster that its tasks work on, and what a person would do in its UI."""

import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from cluster import Cluster
from services import Airflow, wait_for

FLIGHTS = Path(__file__).resolve().parents[2] / "pipelines" / "flight_delays.yml"
ENDED = ("success", "failed", "skipped", "upstream_failed")


@dataclass
class Stage:
    """Airflow's services over stand-ins of the command and the master.

    Attributes:
        airflow: its REST API.
        cluster: where jobs are.
        pipelines: the folder of pipeline files.
        database: Airflow's, a file.
    """

    airflow: Airflow
    cluster: Cluster
    pipelines: Path
    database: Path

    def pipeline(self, name: str, **changes: str) -> "Deployed":
        """Puts a file into the folder, and waits until it is a DAG, not paused."""
        text = FLIGHTS.read_text().replace("name: flight_delays", f"name: {name}")
        for before, after in changes.items():
            text = text.replace(f"{before}: continuous", f"{before}: {after}")
        (self.pipelines / f"{name}.yml").write_text(text)
        wait_for(lambda: self.airflow.knows(name), 240, f"DAG {name} is there")
        self.airflow.patch(f"dags/{name}", is_paused=False)
        return Deployed(self, name)


@dataclass
class Deployed:
    """One pipeline's DAG, or that of one of its actions.

    Attributes:
        stage: where it stands.
        name: of the DAG; of the pipeline, too, if it is the one that deploys it.
    """

    stage: Stage
    name: str

    @property
    def file(self) -> Path:
        return self.stage.pipelines / f"{self.name}.yml"

    def beside(self, action: str) -> "Deployed":
        """The DAG of an action."""
        return Deployed(self.stage, f"{self.name}.{action}")

    def trigger(self, dag_run: str, **conf: object) -> None:
        path = f"dags/{self.name}/dagRuns"
        self.stage.airflow.post(path, dag_run_id=dag_run, logical_date=None, conf=conf)

    def first_run(self) -> str:
        """The DAG run that Airflow has begun by itself."""
        path = f"dags/{self.name}/dagRuns"
        found = wait_for(lambda: self.stage.airflow.get(path)["dag_runs"], 120, "a DAG run begins")
        return str(found[0]["dag_run_id"])

    def mark(self, run: str, state: str, task: str = "") -> None:
        """Marks a DAG run, or one task of it."""
        path = f"dags/{self.name}/dagRuns/{run}" + (f"/taskInstances/{task}" if task else "")
        body = {"new_state": state} if task else {"state": state}
        self.stage.airflow.patch(path, **body)

    def clear(self, run: str, *tasks: str) -> None:
        """Clears tasks of a DAG run and none behind them; without tasks, all of it."""
        only = {"task_ids": list(tasks)} if tasks else {}
        path = f"dags/{self.name}/clearTaskInstances"
        body = {"dag_run_id": run, "dry_run": False, "only_failed": False}
        self.stage.airflow.post(path, **body, **only)

    def watch_again(self, run: str) -> None:
        """Clears the monitor of a DAG run, and waits until it watches.

        Not while Airflow is about to end the DAG run: it would overwrite what the clear has set.
        """

        def settled() -> bool:
            left = [state for state in self.states(run).values() if state not in ENDED]
            return bool(left) or self.state(run) in ENDED

        wait_for(settled, 120, f"{run} has settled")
        self.clear(run, "monitor")
        self.until(run, "monitor", "deferred")

    def pause(self, *, paused: bool) -> None:
        self.stage.airflow.patch(f"dags/{self.name}", is_paused=paused)

    def delete(self, run: str) -> int:
        """Deletes a DAG run; gives the HTTP status."""
        path = f"dags/{self.name}/dagRuns/{run}"
        return self.stage.airflow.ask("DELETE", path).status_code

    def state(self, run: str, task: str = "") -> str:
        """The state of a DAG run, or of one of its tasks."""
        path = f"dags/{self.name}/dagRuns/{run}" + (f"/taskInstances/{task}" if task else "")
        return str(self.stage.airflow.get(path)["state"])

    def is_waited_for(self, run: str, task: str) -> bool:
        """Whether the triggerer has the trigger of a deferred task."""
        path = f"dags/{self.name}/dagRuns/{run}/taskInstances/{task}"
        return self.stage.airflow.get(path)["triggerer_job"] is not None

    def states(self, run: str) -> dict[str, str]:
        found = self.stage.airflow.get(f"dags/{self.name}/dagRuns/{run}/taskInstances")
        return {one["task_id"]: str(one["state"]) for one in found["task_instances"]}

    def tries(self, run: str, task: str) -> int:
        path = f"dags/{self.name}/dagRuns/{run}/taskInstances/{task}"
        return int(self.stage.airflow.get(path)["try_number"])

    def log(self, run: str, task: str) -> str:
        """What the last try of a task has said, and what it died of."""
        path = f"dags/{self.name}/dagRuns/{run}/taskInstances/{task}/logs"
        found = self.stage.airflow.get(f"{path}/{self.tries(run, task)}?full_content=true")
        return "\n".join(map(json.dumps, found["content"]))

    def result(self, run: str, task: str, key: str = "return_value") -> object:
        path = f"dags/{self.name}/dagRuns/{run}/taskInstances/{task}/xcomEntries/{key}"
        return self.stage.airflow.get(f"{path}?deserialize=true")["value"]

    def until(self, run: str, task: str, state: str, seconds: float = 240) -> None:
        """Waits for a state of a task, or of the DAG run if the task is empty.

        A task counts as deferred once the triggerer has it: a mark that comes in the moment before
        would reach nobody (dags/README.md).
        """

        def there() -> bool:
            now = self.state(run, task)
            early = now in ENDED and now != state and state in ENDED
            assert not early, f"{task or run} is {now}, not {state}: {self.states(run)}"
            return now == state and (now != "deferred" or self.is_waited_for(run, task))

        wait_for(there, seconds, f"{task or run} of {self.name} is {state}")

    def driver(self, run: str) -> str:
        """The name of the last driver of a run of the cluster."""
        return self.stage.cluster.driver(self.name, run)

    def calls(self, verb: str) -> list[dict]:
        """The calls of a command for this pipeline, oldest first."""
        calls = self.stage.cluster.calls(verb)
        return [call for call in calls if self.file.name in call["arguments"][1]]

    def alarmed(self) -> list[str]:
        """The tasks that have called the user's callback with their failure, oldest first."""
        file = self.stage.pipelines.parent / "alerts.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [alert["task"] for alert in map(json.loads, lines) if alert["dag"] == self.name]

    def jobs(self) -> dict[str, str]:
        """The state of the driver of each submission of this pipeline, by run."""
        return self.stage.cluster.drivers(self.name)

    def until_jobs(self, **states: str) -> None:
        """Waits until the last driver of each run is as said, and there is no other run."""
        wait_for(lambda: self.jobs() == states, 300, f"jobs are {states}, not {self.jobs()}")

    def stays(self, check, seconds: float = 4) -> None:
        """Looks several times: what is not to happen has not happened."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert check()
            time.sleep(0.5)

    def take_away(self) -> Path:
        """Moves the file out of the folder; gives its place."""
        place = self.stage.pipelines.parent / self.file.name
        shutil.move(self.file, place)
        return place

    def until_driver(self, run: str, *, other_than: str) -> None:
        """Waits until a run has another driver."""
        wait_for(lambda: self.driver(run) != other_than, 180, f"run {run} has another driver")

    def until_try(self, run: str, task: str, number: int) -> None:
        """Waits until a task is tried for so many times."""
        wait_for(lambda: self.tries(run, task) >= number, 120, f"{task} is at try {number}")

    def until_stale(self, *, stale: bool) -> None:
        """Waits until Airflow has noticed that the file is gone, or there again."""
        path = f"dags/{self.name}"
        asked = lambda: self.stage.airflow.get(path)["is_stale"] == stale  # noqa: E731
        wait_for(asked, 180, f"{self.name} is stale: {stale}")

    def until_tasks(self, *names: str) -> None:
        """Waits until the DAG processor has read the DAG with these tasks in it."""
        path = f"dags/{self.name}/tasks"

        def has() -> bool:
            tasks = self.stage.airflow.get(path)["tasks"]
            return {task["task_id"] for task in tasks} >= set(names)

        wait_for(has, 180, f"{self.name} has {', '.join(names)}")

    def until_doc(self, text: str) -> None:
        """Waits until the DAG's page shows a text."""
        path = f"dags/{self.name}/details"
        wait_for(
            lambda: text in (self.stage.airflow.get(path)["doc_md"] or ""),
            60,
            f"the page has {text}",
        )
