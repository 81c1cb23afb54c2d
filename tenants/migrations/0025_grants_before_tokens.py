import django.db.models.deletion
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """Locks a client's grant before its tokens, wherever both are: else two who end it at once may stop each other."""

    dependencies = [("tenants", "0024_killed_where_none_is_on")]

    operations = [
        migrations.AlterField(
            model_name="clienttoken",
            name="grant",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="tokens",
                to="tenants.clientgrant",
            ),
        ),
        rls.operation(
            functions("tenants/login", "forget_tokens", "spend_token"),
            # They end with their grant.
            "REVOKE DELETE ON client_tokens FROM toolgate_app;",
        ),
    ]
