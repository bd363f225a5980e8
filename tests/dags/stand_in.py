"""A small `slackwater` for the DAG tests: the commands' contract over a folder of JSON files.

The folder is $STAND_IN_DIR. It really keeps jobs – attach-or-submit by name, offsets that move with
every question – so that the tests see what a DAG does to a cluster, not what it meant to do.
`script.json` there says what shall go wrong.
"""

# ruff: noqa: T201 - a command speaks by printing

import fcntl
import json
import os
import sys
import time
from pathlib import Path

HOME = Path(os.environ["STAND_IN_DIR"])
ENDS = {"0": 100, "1": 200, "2": 300}
STEP = 150


def script(key, default=None):
    file = HOME / "script.json"
    return json.loads(file.read_text()).get(key, default) if file.exists() else default


def option(arguments, name):
    return arguments[arguments.index(name) + 1] if name in arguments else None


def say(text):
    print(text, file=sys.stderr)


def record(arguments):
    with (HOME / "calls.jsonl").open("a") as calls:
        fcntl.flock(calls, fcntl.LOCK_EX)
        stdin = os.readlink("/proc/self/fd/0")
        print(
            json.dumps({"arguments": arguments, "task_pid": os.getppid(), "stdin": stdin}),
            file=calls,
        )
    login = {name: value for name, value in os.environ.items() if "_KAFKA" in name}
    with (HOME / "logins.jsonl").open("a") as logins:
        print(json.dumps(login), file=logins)


def submit(arguments):
    run = option(arguments, "--run")
    jobs = HOME / "jobs"
    jobs.mkdir(exist_ok=True)
    running = [job for job in jobs.glob(f"{run}.*.json") if alive(job)]
    if running:
        job = running[0]
        say(f"attached to {job.stem}")
    else:
        job = jobs / f"{run}.{len(list(jobs.glob(f'{run}.*.json')))}.json"
        state = script("state_after_submit", "RUNNING")
        job.write_text(json.dumps({"state": state, "offset": 0}))
        say(f"submitted {job.stem}")
    time.sleep(script("submit_s", 0))
    answer = {
        "submission_id": job.stem,
        "run": run,
        "checkpoint": f"ck/{run}",
        "table": "t/flights",
    }
    print(json.dumps(answer | {"ui": "http://127.0.0.1:4040"}))


def alive(job):
    return json.loads(job.read_text())["state"] in ("SUBMITTED", "RUNNING")


def progress(arguments):
    if "--ends" in arguments:
        print(json.dumps(ENDS))
        return
    run = option(arguments, "--run")
    until = json.loads(option(arguments, "--until"))
    file = sorted((HOME / "jobs").glob(f"{run}.*.json"))[-1]
    job = json.loads(file.read_text())
    if job["state"] == "RUNNING":
        job["offset"] += script("step", STEP)
        job["state"] = script("state_while_running", "RUNNING")
        file.write_text(json.dumps(job))
    behind = sum(max(0, end - job["offset"]) for end in until.values())
    lanes = {f"flights/{lane}": min(end, job["offset"]) for lane, end in until.items()}
    answer = {"done": behind == 0, "behind": behind, "lanes": lanes, "state": job["state"]}
    print(json.dumps(answer | {"log": f"work/{file.stem}/stderr"}))


def chaos(arguments):
    if arguments[0] == "contents":
        reports = sorted(path.parent.name for path in Path(arguments[1]).glob("*/report.json"))
        print(json.dumps({"reports": reports}))
        return 0
    folder = Path(option(arguments, "--report"))
    folder.mkdir(parents=True)
    (folder / "report.json").write_text("{}")
    code = script("plans", {}).get(folder.name, 0)
    say("a check failed" if code else "passed")
    return code


def scripted(answers):
    """The next of the answers that the script lists; the last one stays."""
    said = HOME / "said"
    index = min(int(said.read_text()) if said.exists() else 0, len(answers) - 1)
    said.write_text(str(index + 1))
    answer = answers[index]
    if isinstance(answer, int):
        say(f"the broker is away (exit code {answer})")
        return answer
    print(json.dumps(answer))
    return 0


def main(arguments):
    record(arguments)
    if answers := script("answers"):
        return scripted(answers)
    verb = arguments[0]
    if verb in script("fail", {}):
        say("looking …")
        say(script("fail")[verb])
        return 1
    if verb == "chaos":
        return chaos(arguments[1:])
    if verb == "submit":
        submit(arguments)
    elif verb == "progress":
        progress(arguments)
    elif verb == "quality":
        print(json.dumps({"rows": 42, "data_docs": "http://127.0.0.1:9/docs/index.html"}))
    else:
        print(f"{verb}: all well")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
