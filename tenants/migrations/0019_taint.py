from django.db import migrations, models

from tenants.scope import rls

_HELP = "What happens to a call that would reach outside after private data and strangers' words were read."


class Migration(migrations.Migration):
    """What a tenant says of sessions that have read private data and what strangers wrote."""

    dependencies = [("tenants", "0018_profiles")]

    operations = [
        migrations.AddField(
            "tenant",
            "taint",
            models.CharField(
                choices=[("off", "Off"), ("observe", "Observe"), ("ask", "Ask"), ("deny", "Deny")],
                db_default="ask",
                default="ask",
                help_text=_HELP,
                max_length=8,
            ),
        ),
        rls.operation(
            "CREATE CONSTRAINT TRIGGER rights_changed_with_taint AFTER UPDATE ON tenants DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW WHEN (OLD.taint IS DISTINCT FROM NEW.taint) EXECUTE FUNCTION rights_changed('id');",
        ),
    ]
