"""Anthropic's messages, and the count of their tokens."""
