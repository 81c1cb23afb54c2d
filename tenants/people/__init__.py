"""Principals, API keys, and what is encrypted for tenants."""
