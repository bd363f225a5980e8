"""What the platform runs on: the set-up of a fresh machine, and the local stack.

Nothing here knows about windows, pipelines or jobs. `setup` and `layout` use only the standard
library, because they run before anything is installed.
"""
