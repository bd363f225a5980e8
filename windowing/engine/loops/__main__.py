"""Compile all loops, so that nobody waits for it: `python -m windowing.engine.loops`."""

from windowing.engine.loops.ready import make_ready

if __name__ == "__main__":
    make_ready()
