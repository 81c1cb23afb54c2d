"""Where events of a tenant go."""
