"""What each sink requires of a pipeline, as data: a file per sink."""
