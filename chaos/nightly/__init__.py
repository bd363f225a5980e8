"""The nightly run: everything that takes hours, in parts, with one page of their verdicts."""
