"""Principals, API keys, and encryption of tenants' secrets."""
