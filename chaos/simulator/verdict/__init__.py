"""What a simulated run is judged by: its history, and nothing of the engine."""
