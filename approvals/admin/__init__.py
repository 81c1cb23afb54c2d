"""Approval requests, rules and webhook endpoints in the admin."""

from approvals.admin import requests, rules, webhooks

__all__ = ["requests", "rules", "webhooks"]
