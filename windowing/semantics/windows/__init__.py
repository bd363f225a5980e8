"""What windows are, by definition: one file for each class."""
