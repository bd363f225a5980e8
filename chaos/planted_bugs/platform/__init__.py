"""Defects of the job, its sinks, its checkpoint and its workers."""
