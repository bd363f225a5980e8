"""What each sink requires of a pipeline file: a file per sink, as data."""
