from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    dependencies = [("tenants", "0008_second_factor")]

    operations = [
        migrations.AddField(
            model_name="tenant",
            name="second_factor_required",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Whether sessions of its members need a second factor; keys never do.",
            ),
        ),
        rls.operation(
            "GRANT UPDATE (second_factor_required) ON tenants TO toolgate_app;"
            # It answers with a column more.
            "DROP FUNCTION IF EXISTS memberships_of(uuid);",
            functions("tenants/login", "memberships_of"),
        ),
    ]
