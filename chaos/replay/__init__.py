"""A range of the log again: run in other ways (`run`), or by a changed pipeline (`shadow`)."""
