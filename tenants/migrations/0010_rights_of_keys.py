"""What a key may do belongs to the rights of its tenant, whose version a remembered key goes by."""

from django.db import migrations

from tenants.scope import rls

_MAY = ("user_id", "key_hash", "scopes", "expires_at", "revoked_at")


class Migration(migrations.Migration):
    dependencies = [("tenants", "0009_second_factor_required")]

    operations = [
        rls.operation(
            rls.changes_rights(
                "api_keys", on="UPDATE", when=" OR ".join(f"OLD.{each} IS DISTINCT FROM NEW.{each}" for each in _MAY)
            ),
            rls.changes_rights("api_keys", on="DELETE"),
        )
    ]
