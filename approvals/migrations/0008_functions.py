from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """The functions as their files have them; until here, migrations quoted them."""

    dependencies = [("approvals", "0007_decoders")]

    operations = [
        rls.operation(
            functions("approvals/requests", "approval_decisions_guard", "approval_requests_guard", "lock_deciders"),
        )
    ]
