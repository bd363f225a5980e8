"""Deployment of a pipeline file: compare with existing runs, decide, and carry out."""
