"""A small `slackwater` for the DAG tests: the commands' contract over a folder of JSON files.

The folder is $STAND_IN_DIR. It really keeps runs and jobs – attach-or-submit by name, offsets that
move with every question – so that the tests see what a DAG does to a cluster, not what it meant to
do. `script.json` there says what shall go wrong. That the real commands answer in the same words is
for `tests/unit/slackwater/test_answers.py` to say.
"""

# ruff: noqa: T201 - a command speaks by printing

import fcntl
import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

HOME = Path(os.environ["STAND_IN_DIR"])
ENDS = {"0": 100, "1": 200, "2": 300}
STEP = 150
UI = "http://127.0.0.1:4040"
STOPPED = "nobody"


def script(key, default=None):
    """What was said for the pipeline of this call, else for all of them."""
    file = Path(sys.argv[2]) if len(sys.argv) > 2 else Path()
    own = HOME / f"script.{pipeline_of(file)}.json" if file.is_file() else Path()
    place = own if own.is_file() else HOME / "script.json"
    return json.loads(place.read_text()).get(key, default) if place.exists() else default


def pipeline_of(file):
    names = [line for line in file.read_text().splitlines() if line.startswith("name:")]
    return names[0].split()[1] if names else ""


def option(arguments, name):
    return arguments[arguments.index(name) + 1] if name in arguments else None


def say(text):
    print(text, file=sys.stderr)


def record(arguments):
    with (HOME / "calls.jsonl").open("a") as calls:
        fcntl.flock(calls, fcntl.LOCK_EX)
        stdin = os.readlink("/proc/self/fd/0")
        print(
            json.dumps(
                {
                    "arguments": arguments,
                    "task_pid": os.getppid(),
                    "stdin": stdin,
                    "parent": os.environ.get("OPENLINEAGE_PARENT_ID"),
                }
            ),
            file=calls,
        )
    login = {name: value for name, value in os.environ.items() if "_KAFKA" in name}
    with (HOME / "logins.jsonl").open("a") as logins:
        print(json.dumps(login), file=logins)


def runs_of(file):
    """The runs of the pipeline whose file this is, by name."""
    folder = HOME / "runs" / pipeline_of(Path(file))
    return folder, {path.parent.name: json.loads(path.read_text()) for path in folder.glob("*/run")}


def write_run(folder, run, note):
    place = folder / run
    place.mkdir(parents=True, exist_ok=True)
    (place / "run").write_text(json.dumps(note))


def driver(note):
    return json.loads((HOME / "jobs" / f"{note['job']}.json").read_text())


def set_driver(note, state):
    file = HOME / "jobs" / f"{note['job']}.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"state": state}))


def alive(note):
    return driver(note)["state"] in ("SUBMITTED", "RUNNING", "RELAUNCHING")


def submit(arguments):
    file, run = Path(arguments[1]), option(arguments, "--run")
    folder, known = runs_of(file)
    note, copy = known.get(run), folder / run / file.name
    if note and copy.read_text() != file.read_text():
        say(f"{file} is another pipeline than run {run} was submitted with")
        return 2
    others = [name for name, other in known.items() if name != run and alive(other)]
    beside = "--beside" in arguments
    if others and not {"--beside", "--replace"} & set(arguments):
        say(f"run {others[0]} lives, and run {run} would end it")
        return 2
    if note and alive(note):
        say(f"attached to {note['job']}")
    else:
        for other in [] if beside else others:
            set_driver(known[other], "KILLED")
            write_run(folder, other, known[other] | {"order": run})
            say(f"ended run {other}")
        note = submit_driver(run, offset=driver(note)["offset"] if note else 0)
        write_run(folder, run, note | {"now": "--available-now" in arguments, "beside": beside})
        copy.write_text(file.read_text())
        if not beside:
            (folder / "live").write_text(run)
        say(f"submitted {note['job']}")
    time.sleep(script("submit_s", 0))
    print(json.dumps(described(folder, run, note, copy)))
    return 0


def described(folder, run, note, copy):
    return {
        "pipeline": folder.name,
        "run": run,
        "submission_id": note["job"],
        "folder": str(folder / run),
        "checkpoint": f"ck/{run}",
        "table": "t/flights",
        "file": str(copy),
        "ui": UI,
    }


def start(arguments):
    file, run = Path(arguments[1]), option(arguments, "--run")
    folder, known = runs_of(file)
    note = known[run]
    others = [name for name, other in known.items() if name != run and alive(other)]
    if others:
        say(f"run {others[0]} has a job that lives: end it, then start {run}")
        return 1
    if not alive(note):
        begun = submit_driver(run, offset=driver(note)["offset"])
        note = begun | {"now": note["now"], "beside": note["beside"]}
        write_run(folder, run, note)
    print(json.dumps(described(folder, run, note, folder / run / file.name)))
    return 0


def submit_driver(run, offset):
    jobs = HOME / "jobs"
    jobs.mkdir(exist_ok=True)
    job = f"{run}.{len(list(jobs.glob(f'{run}.*.json')))}"
    state = script("state_after_submit", "RUNNING")
    (jobs / f"{job}.json").write_text(json.dumps({"state": state, "offset": offset}))
    return {"job": job, "submitted_at": datetime.now(UTC).isoformat()}


def state_of(note):
    """As `jobs.runs.life` sees it."""
    if order := note.get("order"):
        return ("stopped", None) if order == STOPPED else ("superseded", f"run {order} took over")
    match driver(note)["state"]:
        case "FAILED":
            return "failed", "disk full"
        case "FINISHED":
            return ("finished", None) if note["now"] else ("failed", "its driver ended")
        case "KILLED":
            return "stopped", "its driver was ended at the cluster, not by a command of ours"
        case "SUBMITTED":
            return "submitted", None
        case _:
            return "running", None


def runs(arguments):
    folder, found = runs_of(arguments[1])
    live = (folder / "live").read_text() if found else ""
    for run, note in sorted(found.items(), key=lambda one: one[1]["submitted_at"], reverse=True):
        state, why = state_of(note)
        answer = {
            "pipeline": folder.name,
            "run": run,
            "state": state,
            "why": why,
            "live": run == live,
            "restarts": 0,
            "submitted_at": note["submitted_at"],
            "file": str(next((folder / run).glob("*.yml"))),
            "file_differs": None,
            "batches": script("batches", 1),
            "behind": 0,
            "table": "t/flights",
            "last_verify": None,
            "last_quality": script("last_quality"),
            "metrics": None,
            "ui": UI,
            "log": None,
        }
        print(json.dumps(answer))
    return script("runs_code", 0)


def stop(arguments):
    folder, found = runs_of(arguments[1])
    run = option(arguments, "--run") or (folder / "live").read_text()
    note = found[run]
    if not alive(note):
        print("stopped: nothing was running")
        return 0
    set_driver(note, "KILLED")
    write_run(folder, run, note | {"order": STOPPED})
    print(f"stopped: {run}")
    return 0


def handover(arguments):
    folder, found = runs_of(arguments[1])
    run, live = option(arguments, "--to"), (folder / "live").read_text()
    if run == live:
        print(f"run {run} is the live one already")
        return 0
    if not found[run]["beside"]:
        say(f"run {run} does not work beside the live one")
        return 2
    set_driver(found[live], "KILLED")
    write_run(folder, live, found[live] | {"order": run})
    write_run(folder, run, found[run] | {"beside": False})
    (folder / "live").write_text(run)
    print(f"run {run} is the live one")
    return 0


def progress(arguments):
    if "--ends" in arguments:
        print(json.dumps(ENDS))
        return 0
    run = option(arguments, "--run")
    until = json.loads(option(arguments, "--until"))
    note = runs_of(arguments[1])[1][run]
    job = driver(note)
    if job["state"] == "RUNNING":
        job["offset"] += script("step", STEP)
        job["state"] = script("state_while_running", "RUNNING")
        (HOME / "jobs" / f"{note['job']}.json").write_text(json.dumps(job))
    behind = sum(max(0, end - job["offset"]) for end in until.values())
    lanes = {f"flights/{lane}": min(end, job["offset"]) for lane, end in until.items()}
    state, why = state_of(note)
    answer = {
        "done": behind == 0,
        "behind": behind,
        "state": state.upper(),
        "why": why,
        "restarts": 0,
        "batches": 1,
        "lanes": lanes,
        "error": why if state == "failed" else None,
        "log": f"work/{note['job']}/stderr",
        "ui": UI,
    }
    print(json.dumps(answer))
    return 0


def quality(arguments):
    said = script("fail", {}).get("quality")
    answer = {
        "passed": said is None,
        "sentence": said or "all 2 expectations hold",
        "rows": 42,
        "data_docs": "docs/index.html",
        "final_until": script("final_until", {"hourly": "2013-01-01T05:00:00+00:00"}),
    }
    print(json.dumps(answer | {"run": option(arguments, "--run"), "results": []}))
    if said:
        say(said)
    return 1 if said else 0


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


def verify(arguments):
    code = script("verify", 0)
    if code == 3:
        say(f"run {option(arguments, '--run')} has not committed a batch yet")
        return code
    print("rows: 9 found, 9 expected")
    print(f"lost {code}, duplicated 0, differing 0")
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
    given = {word.partition("=")[0] for word in arguments if word.startswith("--")}
    if unknown := given - OPTIONS[verb]:
        say(f"no such option: {', '.join(unknown)}")
        return 2
    if verb in script("fail", {}) and verb != "quality":
        say("looking …")
        say(script("fail")[verb])
        return 1
    if verb in COMMANDS:
        return COMMANDS[verb](arguments)
    print(f"{verb}: all well")
    return 0


OPTIONS = {
    "validate": set(),
    "topics": set(),
    "submit": {
        "--run",
        "--from",
        "--beside",
        "--replace",
        "--max-offsets",
        "--available-now",
    },
    "runs": {"--json"},
    "start": {"--run"},
    "stop": {"--run"},
    "handover": {"--to"},
    "progress": {"--run", "--json", "--until", "--ends"},
    "quality": {"--run", "--json"},
    "heartbeat": {"--once", "--silent", "--max-delay"},
    "tables": set(),
    "verify": {"--run", "--since", "--until", "--jobs"},
    "replay": {"--run", "--from", "--to"},
    "chaos": {"--seed", "--report"},
}
"""What each command takes; the DAGs use no other ones."""

COMMANDS = {
    "submit": submit,
    "runs": runs,
    "start": start,
    "stop": stop,
    "handover": handover,
    "progress": progress,
    "quality": quality,
    "verify": verify,
    "chaos": lambda arguments: chaos(arguments[1:]),
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
