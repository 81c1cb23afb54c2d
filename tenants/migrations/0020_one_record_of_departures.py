import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    dependencies = [("tenants", "0019_taint")]

    operations = [
        migrations.AddField("departure", "ended_at", models.DateTimeField(null=True)),
        rls.operation(
            "DROP TRIGGER IF EXISTS remember_removed_member ON memberships;",
            "DROP FUNCTION IF EXISTS remember_removed_member;",
            # Somebody may have left more than once since the last sweep.
            "DELETE FROM departures d USING departures later WHERE later.tenant_id = d.tenant_id"
            " AND later.user_id = d.user_id AND (later.left_at, later.id) > (d.left_at, d.id);",
            # Whoever was removed and is not to be swept any more has nothing under way.
            "INSERT INTO departures (id, tenant_id, user_id, left_at, ended_at)"
            " SELECT r.id, r.tenant_id, r.user_id, r.removed_at, r.removed_at FROM removed_members r"
            " WHERE NOT EXISTS (SELECT FROM departures d WHERE d.tenant_id = r.tenant_id AND d.user_id = r.user_id);",
        ),
        migrations.DeleteModel("RemovedMember"),
        migrations.AlterField(
            "departure",
            "tenant",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="tenants.tenant",
            ),
        ),
        migrations.AlterField(
            "departure",
            "user",
            models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            "departure", models.UniqueConstraint(fields=("tenant", "user"), name="departures_tenant_user")
        ),
        migrations.AddIndex(
            "departure",
            models.Index(condition=models.Q(("ended_at", None)), fields=["left_at"], name="departures_due"),
        ),
        rls.operation(
            "REVOKE DELETE ON departures FROM toolgate_system;",
            rls.grant("departures", operator="DELETE"),
            functions("tenants/members", "membership_ended", "membership_began", "departure_ended"),
            functions("tenants/login", "admit_person"),
            "CREATE TRIGGER membership_began AFTER INSERT ON memberships FOR EACH ROW"
            " EXECUTE FUNCTION membership_began();",
        ),
    ]
