"""How the simulator draws windows of one's own."""

import random
from typing import Any

from chaos.simulator.draw.windows import window_draw


@window_draw("months")
def draw_months(rng: random.Random) -> dict[str, Any]:
    """Draw the clauses: months of UTC, or of some other clock."""
    return rng.choice([{}, {"ahead_h": rng.randint(-12, 14)}])
