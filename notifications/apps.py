"""The notifications app, which delivers events to the targets that a tenant chose."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    """The notifications app, which delivers events to the targets that a tenant chose."""

    name = "notifications"
    verbose_name = "Notifications"

    def ready(self) -> None:
        """Say where secrets of targets and destinations are kept, and offer tools what they send messages with."""
        from notifications.inbox.handles import Handles
        from tenants.people import rotation
        from tools.invocation import ports

        rotation.register("notification_targets", "secret")
        rotation.register("destinations", "secret")
        ports.connect(notifications=Handles())
