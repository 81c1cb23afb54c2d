"""Conversations as a whole: finding them again, and erasing them."""
