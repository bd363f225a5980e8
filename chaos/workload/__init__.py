"""The workload of a job under test: its own pipeline and topics, and the records sent to them.

The records are flights or a user's own: a file, a range of a topic, or the output of a generator.
"""
