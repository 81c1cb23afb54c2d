"""Following a run from any process: wake-ups, the text under way, and the run as events."""
