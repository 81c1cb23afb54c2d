"""How a request authenticates, and what it may see."""
