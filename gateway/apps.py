"""The gateway app, agents, conversations and runs."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    """The gateway app, agents, conversations and runs."""

    name = "gateway"
    verbose_name = "Gateway"

    def ready(self) -> None:
        """Make its words, events and queries known to those who need them, and wake who waits for a call."""
        from gateway.rest.framework import openapi  # noqa: F401
        from gateway.runs import agents, publisher  # noqa: F401
        from gateway.runs.watching.wakeups import waits
        from tools.invocation import ports

        ports.connect(watch=lambda call_id: waits().for_run(call_id))
