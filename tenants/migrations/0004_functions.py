from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """The functions as their files have them; until here, migrations quoted them."""

    dependencies = [("tenants", "0003_decoders")]

    operations = [
        rls.operation(
            functions(
                "tenants/login",
                "authenticate_key",
                "find_login",
                "load_user",
                "memberships_of",
                "record_key_use",
                "record_login",
            ),
        )
    ]
