"""Approval requests and rules in the admin."""

from approvals.admin import requests, rules

__all__ = ["requests", "rules"]
