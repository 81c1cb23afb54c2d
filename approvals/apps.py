"""The approvals app, where humans decide about Elevated calls."""

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """The approvals app, where humans decide about Elevated calls."""

    name = "approvals"
    verbose_name = "Approvals"

    def ready(self) -> None:
        """Let the ledger know how decisions are read, and make the types of its events known."""
        from approvals import events  # noqa: F401
        from approvals.requests import decision_queries  # noqa: F401
