"""What owners allow to be spent, and what was used."""
