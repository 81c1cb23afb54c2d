"""The tenants app: tenants, users, keys, and row-level security."""

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """Tenants, users, memberships and keys."""

    name = "tenants"
    verbose_name = "Tenants and people"

    def ready(self) -> None:
        """Log-in time is written by `record_login`, since the app's role may not update users. Second factors are among
        what a new encryption key encrypts again."""
        from django.contrib.auth.models import update_last_login
        from django.contrib.auth.signals import user_logged_in

        user_logged_in.disconnect(update_last_login, dispatch_uid="update_last_login")
        from tenants.login import reauthentication, sessions

        for receiver in (reauthentication.on_log_in, sessions.on_log_in):
            user_logged_in.connect(receiver, dispatch_uid=receiver.__module__)
        from tenants.people import rotation

        rotation.register("sign_on_providers", "client_secret")
        for member in ("secret", "seed"):
            rotation.register_member("mfa_authenticator", "data", member)
