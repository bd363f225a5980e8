"""Conformance: recorded cases of the sources' semantics, judged one by one."""
