from django.db import migrations

from tenants.scope import rls


class Migration(migrations.Migration):
    """Lets the sweeper see which services there are to look at again, and nothing of what they hold."""

    dependencies = [
        ("services", "0003_connections"),
    ]

    operations = [
        rls.operation(
            rls.grant("services", system="SELECT (id, tenant_id, slug, kind, enabled, identity, source_url)"),
        ),
    ]
