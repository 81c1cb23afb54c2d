"""Approval requests, rules and access conditions in the admin."""

from approvals.admin import conditions, requests, rules

__all__ = ["conditions", "requests", "rules"]
