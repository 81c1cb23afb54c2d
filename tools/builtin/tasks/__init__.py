"""The tools for a person's tasks, one file each."""
