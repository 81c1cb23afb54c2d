"""Agents, and what tenants say about tools."""
