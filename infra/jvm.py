"""Options of the JVMs that run jobs; those of `cluster/spark.conf` are the same.

The stack has few cores, and when a job begins, or continues after a kill, all its JVMs start at
once: then the second compiler takes a fifth of the time.
"""

DRIVER = (
    # Why is said where sessions have it: `windowing.spark.plan.SETTINGS`.
    "-Xss8m",
    # A driver only plans, which is not worth compiling twice.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
)

EXECUTOR = (
    # For two cores and a heap of 1 GB it is as fast as G1, and needs some 400 MB less.
    "-XX:+UseSerialGC",
    # Four times the thresholds of the second compiler; once warm it is as fast.
    "-XX:Tier4InvocationThreshold=20000",
    "-XX:Tier4MinInvocationThreshold=2400",
    "-XX:Tier4CompileThreshold=60000",
    "-XX:Tier4BackEdgeThreshold=160000",
)
