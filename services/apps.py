"""The services app, where a tenant's own tools come from."""

from django.apps import AppConfig


class ServicesConfig(AppConfig):
    """The services app, where a tenant's own tools come from."""

    name = "services"
    verbose_name = "Services"

    def ready(self) -> None:
        """Let calls find the tools of services, and kill switches what they are about."""
        from services import queries
        from services.catalogue import ServiceTools
        from services.reading import drift
        from tenants.models import KillSwitch
        from tenants.people import rotation
        from tenants.switches import targets
        from tools.invocation import ports

        ports.connect(services=ServiceTools(drift.look_again))
        targets.register(KillSwitch.Kind.TOOL, queries.named_tool)
        targets.register(KillSwitch.Kind.SERVICE, queries.named_service)
        rotation.register("services", "secret")
        rotation.register("service_clients", "client_secret")
        rotation.register("connection_attempts", "verifier", "client_secret")
        for table in ("connections", "token_revocations"):
            rotation.register(table, "client_secret", "access_token", "refresh_token")
