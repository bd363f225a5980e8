"""Models of other engines: which windows they report, when, and with which content.

The model is SECRET: *Tick* decides when an engine wakes up, *Scope* which window is active,
*Content* what is in it, *Report* whether it is shown, and *Pick* which of several is. It sees
nothing of our engine or its definition; what it says of Slackwater itself is one more profile.

Sources: Dindar et al., "Modeling the execution semantics of stream processing engines with SECRET",
VLDB Journal 2013; Affetti, Tommasini, Margara, "Defining the execution semantics of stream
processing engines", J. Big Data 4:12, 2017.
"""
