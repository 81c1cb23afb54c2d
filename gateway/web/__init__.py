"""Pages that show runs: the chat, a run's timeline, and erasing."""
