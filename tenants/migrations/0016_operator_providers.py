import django.contrib.postgres.fields
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """Which of the operator's providers a tenant may use; rows of the operator's that concern every tenant."""

    dependencies = [("tenants", "0015_request_limits")]

    operations = [
        migrations.AddField(
            model_name="tenant",
            name="operator_providers",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=32),
                blank=True,
                help_text="Which of the operator's providers of models it may use; empty: all of them.",
                null=True,
                size=None,
            ),
        ),
        rls.operation(
            functions("tenants/scope", "all_rights_changed"),
            "CREATE CONSTRAINT TRIGGER rights_changed_with_providers AFTER UPDATE ON tenants DEFERRABLE INITIALLY "
            "DEFERRED FOR EACH ROW WHEN (OLD.operator_providers IS DISTINCT FROM NEW.operator_providers) "
            "EXECUTE FUNCTION rights_changed('id');",
        ),
    ]
