"""The services app, where a tenant's own tools come from."""

from django.apps import AppConfig


class ServicesConfig(AppConfig):
    """The services app, where a tenant's own tools come from."""

    name = "services"
    verbose_name = "Services"

    def ready(self) -> None:
        """Let calls find the tools of services."""
        from services.catalogue import ServiceTools
        from tools.invocation import ports

        ports.connect(services=ServiceTools())
