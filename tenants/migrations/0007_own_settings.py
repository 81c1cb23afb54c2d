from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    dependencies = [("tenants", "0006_client_grants")]

    operations = [
        rls.operation(
            functions("tenants/login", "change_password"),
            # Users end what they granted, with its tokens.
            rls.grant("client_tokens", app="DELETE"),
        )
    ]
