"""The approvals app, where humans decide about Elevated calls."""

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """The approvals app, where humans decide about Elevated calls."""

    name = "approvals"
    verbose_name = "Approvals"

    def ready(self) -> None:
        """Let the ledger know how decisions are read, make its events known, and let calls without a chat meet it."""
        from approvals import events  # noqa: F401
        from approvals.questions import answer_queries  # noqa: F401
        from approvals.questions.asking import QuestionPorts
        from approvals.requests import decision_queries  # noqa: F401
        from approvals.requests.unit_of_work import CallPorts
        from tenants.people import rotation
        from tools.invocation import ports

        ports.connect(approvals=CallPorts(), questions=QuestionPorts())
        rotation.register("questions", "state")
        rotation.register("alert_webhooks", "secret")
