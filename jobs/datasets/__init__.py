"""Real data as logs: the flights and the weather of New York 2013."""
