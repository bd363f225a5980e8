"""Conformance: recorded cases of the semantics of published systems, judged one by one."""
