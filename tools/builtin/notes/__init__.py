"""The tools that keep and find a person's notes, one file each."""
