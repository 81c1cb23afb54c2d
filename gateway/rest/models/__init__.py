"""Providers and models over REST, for owners."""
