import uuid

import django.db.models.deletion
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    dependencies = [("tenants", "0004_functions")]

    operations = [
        migrations.CreateModel(
            name="RightsVersion",
            fields=[
                (
                    "tenant",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="tenants.tenant",
                    ),
                ),
                ("version", models.UUIDField(default=uuid.uuid4)),
            ],
            options={"db_table": "rights_versions"},
        ),
        rls.operation(
            rls.isolate("rights_versions"),
            # Only the triggers write it.
            rls.grant("rights_versions", app="SELECT", operator="SELECT, DELETE"),
            functions("tenants/scope", "rights_version", "rights_changed", "user_rights_changed"),
            rls.changes_rights("memberships"),
            rls.changes_rights(
                "tenants",
                on="UPDATE",
                when="OLD.role_ceilings IS DISTINCT FROM NEW.role_ceilings "
                "OR OLD.default_tools IS DISTINCT FROM NEW.default_tools",
                named="id",
            ),
            rls.changes_rights(
                "users",
                on="UPDATE",
                when="OLD.is_active IS DISTINCT FROM NEW.is_active",
                function="user_rights_changed",
            ),
        ),
    ]
