"""Scenarios of the window operator: format and judgement."""
