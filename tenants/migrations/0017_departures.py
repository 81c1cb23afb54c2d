import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    dependencies = [("tenants", "0016_operator_providers")]

    operations = [
        migrations.CreateModel(
            name="Departure",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("left_at", models.DateTimeField()),
                (
                    "tenant",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"db_table": "departures"},
        ),
        rls.operation(
            rls.isolate("departures"),
            rls.grant("departures", system="SELECT, DELETE", operator="SELECT"),
            functions("tenants/members", "membership_ended"),
            "CREATE TRIGGER membership_ended AFTER DELETE ON memberships FOR EACH ROW"
            " EXECUTE FUNCTION membership_ended();",
        ),
    ]
