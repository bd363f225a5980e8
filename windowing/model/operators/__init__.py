"""Operators over policy windows, as data: what a query with `operator:` asks for.

Source: Gedik 2014, section 6; their meaning inside a pipeline: `windowing/adr/0022`.
"""
