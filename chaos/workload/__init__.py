"""What a job under attack works on: a pipeline and topics of its own, and the records sent there.

The records are flights, or a user's: a file, a range of a topic, or what a generator makes.
"""
