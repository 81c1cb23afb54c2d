"""The gateway app, agents, conversations and runs."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    """The gateway app, agents, conversations and runs."""

    name = "gateway"
    verbose_name = "Gateway"
