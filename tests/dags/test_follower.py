"""The process that answers the page's questions: started once, replaced when it must be."""

import asyncio
import sys
import time
from pathlib import Path

import pytest

from dags.operators.command import CommandError
from dags.page import follower
from dags.page.follower import Follower

# A `slackwater overview` that notes its starts, and answers with what it was asked.
COMMAND = """
import json, os, pathlib, sys
home = pathlib.Path(sys.argv[1])
(home / "starts").open("a").write(" ".join(sys.argv[2:]) + "\\n")
def answers(files):
    mine = {"pid": os.getpid(), "mark": os.environ.get("MARK")}
    return [{"pipeline": file, **mine} for file in files]
if "--follow" not in sys.argv:
    print(json.dumps(answers(a for a in sys.argv[3:] if not a.startswith("--"))))
    sys.exit()
if (home / "old").exists():
    sys.exit("error: no such option: --follow")
for line in sys.stdin:
    files = json.loads(line)
    if files == ["dies"]:
        sys.exit(1)
    if files == ["sleeps"]:
        import time; time.sleep(60)
    answer = {"error": "it is bad"} if files == ["bad"] else {"overviews": answers(files)}
    print(json.dumps(answer), flush=True)
(home / "ended").write_text("by the end of its input")
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "command.py").write_text(COMMAND)
    command = f"{sys.executable} {tmp_path / 'command.py'} {tmp_path}"
    monkeypatch.setenv("SLACKWATER_COMMAND", command)
    return tmp_path


def starts(home: Path) -> list[str]:
    return (home / "starts").read_text().splitlines()


FOLLOWING = "overview --follow"


def test_questions_are_answered_by_one_process_in_turn(home):
    async def ask():
        asks = Follower().ask
        return await asyncio.gather(*(asks([f"{n}.yml"]) for n in range(5)), asks(["a", "b"]))

    found = asyncio.run(ask())
    names = [[one["pipeline"] for one in answer] for answer in found]
    assert names == [*([f"{n}.yml"] for n in range(5)), ["a", "b"]]
    assert len({one["pid"] for answer in found for one in answer}) == 1
    assert starts(home) == [FOLLOWING]


def test_an_error_is_the_commands_own_and_the_process_stays(home):
    async def ask():
        asks = Follower().ask
        with pytest.raises(CommandError, match="it is bad"):
            await asks(["bad"])
        return await asks(["a.yml"])

    assert asyncio.run(ask())[0]["pipeline"] == "a.yml"
    assert starts(home) == [FOLLOWING]


def test_where_it_cannot_be_had_each_question_is_a_call(home):
    (home / "old").touch()

    async def ask():
        asks = Follower().ask
        return [await asks([name]) for name in ("a.yml", "b.yml")]

    assert [one["pipeline"] for (one,) in asyncio.run(ask())] == ["a.yml", "b.yml"]
    # Not tried twice within a minute.
    assert starts(home) == [FOLLOWING, "overview a.yml --json", "overview b.yml --json"]


def test_one_that_dies_is_replaced_by_a_call_and_later_by_another(home, monkeypatch):
    async def ask():
        asks = Follower().ask
        first = await asks(["dies"])
        monkeypatch.setattr(follower, "AGAIN_S", -1.0)
        return [first, await asks(["a.yml"])]

    assert [one["pipeline"] for (one,) in asyncio.run(ask())] == ["dies", "a.yml"]
    assert starts(home) == [FOLLOWING, "overview dies --json", FOLLOWING]


def test_one_that_hangs_is_left_and_the_next_answer_is_not_its(home, monkeypatch):
    monkeypatch.setattr(follower, "ANSWER_S", 0.5)

    async def ask():
        asks = Follower().ask
        with pytest.raises(CommandError, match=r"has not answered in 0\.5 s"):
            await asks(["sleeps"])
        monkeypatch.setattr(follower, "ANSWER_S", 60.0)
        return await asks(["a.yml"])

    assert asyncio.run(ask())[0]["pipeline"] == "a.yml"


def test_another_environment_or_loop_has_another_process(home, monkeypatch):
    asks = Follower().ask

    async def twice():
        before = await asks(["a.yml"])
        monkeypatch.setenv("MARK", "new")
        return before[0], (await asks(["a.yml"]))[0]

    before, after = asyncio.run(twice())
    assert (before["mark"], after["mark"]) == (None, "new")
    assert asyncio.run(asks(["a.yml"]))[0]["pid"] != after["pid"]


def test_it_is_there_before_the_first_question_and_ends_when_asked_to(home):
    async def ask():
        one = Follower()
        await one.start()
        await until((home / "starts").exists)
        found = await one.ask(["a.yml"])
        await one.stop()
        assert (home / "ended").exists()
        return found

    assert asyncio.run(ask())[0]["pipeline"] == "a.yml"
    assert starts(home) == [FOLLOWING]


def test_one_that_cannot_be_started_is_no_reason_not_to_begin(monkeypatch):
    monkeypatch.setenv("SLACKWATER_COMMAND", "/nowhere/slackwater")

    async def ask():
        one = Follower()
        await one.start()
        with pytest.raises(CommandError, match="nowhere"):
            await one.ask(["a.yml"])

    asyncio.run(ask())


async def until(holds) -> None:
    """Wait until something holds."""
    until_s = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < until_s
        await asyncio.sleep(0.05)
