"""What no pipeline calls: models of other engines, a prober, the sliding graph."""
