"""What models draw beside conversations."""
