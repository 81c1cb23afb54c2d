"""The notifications app, which delivers events to the targets that a tenant chose."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    """The notifications app, which delivers events to the targets that a tenant chose."""

    name = "notifications"
    verbose_name = "Notifications"
