"""Expressions in pipeline files, as data: parsed and checked here, evaluated elsewhere."""
