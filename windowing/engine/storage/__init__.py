"""The wire and the store: how tables become bytes, travel, and are kept."""
