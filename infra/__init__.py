"""What the platform runs on: the set-up of a fresh machine, and the local stack.

Nothing here knows of windows, pipelines or jobs. `setup` and `layout` use the standard library
only, because they run before anything is installed.
"""
