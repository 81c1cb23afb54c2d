"""The gateway app, agents, conversations and runs."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    """The gateway app, agents, conversations and runs."""

    name = "gateway"
    verbose_name = "Gateway"

    def ready(self) -> None:
        """Make the OpenAPI document's own words known, and how rules read agents."""
        from gateway.rest.framework import openapi  # noqa: F401
        from gateway.runs import agents  # noqa: F401
