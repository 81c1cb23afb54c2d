"""The ways out: guarded HTTP, e-mail, and the shared Redis client and cache."""
