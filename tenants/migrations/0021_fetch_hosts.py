import django.contrib.postgres.fields
from django.db import migrations, models

from tenants.scope import rls


class Migration(migrations.Migration):
    dependencies = [("tenants", "0020_one_record_of_departures")]

    operations = [
        migrations.AddField(
            model_name="tenant",
            name="fetch_hosts",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=263),
                blank=True,
                default=list,
                help_text="Hosts that web_fetch reads without a human.",
                size=None,
            ),
        ),
        rls.operation(
            # Whoever writes a tenant without knowing of it allows none.
            "ALTER TABLE tenants ALTER COLUMN fetch_hosts SET DEFAULT '{}';"
            "GRANT UPDATE (fetch_hosts) ON tenants TO toolgate_app;"
            "CREATE CONSTRAINT TRIGGER rights_changed_with_fetch_hosts AFTER UPDATE ON tenants DEFERRABLE INITIALLY "
            "DEFERRED FOR EACH ROW WHEN (OLD.fetch_hosts IS DISTINCT FROM NEW.fetch_hosts) "
            "EXECUTE FUNCTION rights_changed('id');",
        ),
    ]
