"""Speed, stated as ratios measured side by side; no test depends on it."""
