"""Runs of plans on a stack: preparation, execution and judgement."""
