"""What reaches a person and where, over REST: inbox, reminders, destinations, and what was sent in their name."""
