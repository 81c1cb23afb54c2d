"""The tools about conversations and work given to other sessions, one file each."""
