"""How a request proves who it is, and what it may see."""
