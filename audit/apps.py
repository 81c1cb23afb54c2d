"""The audit app, the only writer of tool calls and the ledger."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """The audit app, the only writer of tool calls and the ledger."""

    name = "audit"
    verbose_name = "Audit"
