"""Chat, runs and conversations over REST."""
