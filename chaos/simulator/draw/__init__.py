"""The generator of small pipelines, logs and plans, for the simulator and for property tests.

Every choice is drawn from the given `random.Random`: a seeded one, or Hypothesis's own, which then
shrinks the case. Nothing here knows the right result; the definition computes it afterwards.
"""

from chaos.simulator.draw.log import draw_log
from chaos.simulator.draw.pipeline import draw_pipeline
from chaos.simulator.draw.plan import draw_plan, draw_tuning
from chaos.simulator.draw.wish import KINDS, Wish

__all__ = ["KINDS", "Wish", "draw_log", "draw_pipeline", "draw_plan", "draw_tuning"]
