"""Agents, and what a tenant says about tools: settings and grants; for owners."""
