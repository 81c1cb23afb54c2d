"""The gateway app, agents, conversations and runs."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    """The gateway app, agents, conversations and runs."""

    name = "gateway"
    verbose_name = "Gateway"

    def ready(self) -> None:
        """Make known the OpenAPI document's own words, how rules read agents, and the types of runs' events."""
        from gateway.rest.framework import openapi  # noqa: F401
        from gateway.runs import agents, publisher  # noqa: F401
