"""`slackwater run` on Spark says what it says without it."""

from pathlib import Path

from tests.commands.test_run import what_a_users_class_does_is_its_own_sentence
from tests.unit.slackwater.test_run import says_what_became_of_every_record


def test_it_says_what_became_of_every_record(tmp_path: Path) -> None:
    says_what_became_of_every_record(tmp_path, "spark")


def test_what_a_users_class_does_is_its_own_sentence(tmp_path: Path) -> None:
    what_a_users_class_does_is_its_own_sentence(tmp_path, "spark")
