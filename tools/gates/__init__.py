"""The gates that a suggested call passes, and what they know: policy and rate limits."""
