"""Tests in pipeline files: their logs, what they expect, and where an output differs from it."""
