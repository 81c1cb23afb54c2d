"""The audit app, the only writer of tool calls and the ledger."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """The audit app, the only writer of tool calls and the ledger."""

    name = "audit"
    verbose_name = "Audit"

    def ready(self) -> None:
        """Let the packages below say what settings were changed."""
        from audit.changes import recording  # noqa: F401
