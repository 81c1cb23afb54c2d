"""The tenants app: tenants, users, keys, and row-level security."""

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """Tenants, users, memberships and keys."""

    name = "tenants"
    verbose_name = "Tenants and people"

    def ready(self) -> None:
        """Log-in time is written by `record_login`, since the app's role may not update users."""
        from django.contrib.auth.models import update_last_login
        from django.contrib.auth.signals import user_logged_in

        user_logged_in.disconnect(update_last_login, dispatch_uid="update_last_login")
