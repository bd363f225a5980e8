"""What a pipeline file keeps to for the sake of its sink: a file per sink, as data."""
