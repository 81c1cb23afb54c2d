"""The audit log in the admin: read, never changed."""

from audit.admin import calls, ledger

__all__ = ["calls", "ledger"]
