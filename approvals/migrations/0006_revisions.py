from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    dependencies = [("approvals", "0005_numbers"), ("tenants", "0001_initial")]

    operations = [
        migrations.AddField(
            "approvalrequest",
            "revision",
            models.IntegerField(
                default=1,
                db_default=1,
                help_text="1 for the arguments as the model sent them; each edit makes another.",
            ),
        ),
        migrations.AddField(
            "approvalrequest",
            "approved_by",
            ArrayField(models.UUIDField(), null=True, help_text="Whose approvals counted when it was approved."),
        ),
        migrations.AddField(
            "approvaldecision",
            "revision",
            models.IntegerField(
                default=1,
                db_default=1,
                help_text="Which revision of the arguments it is about; it counts for no other.",
            ),
        ),
        migrations.RemoveConstraint("approvaldecision", "approval_decisions_once"),
        rls.operation(
            """
            -- What was decided before revisions were counted: each edit began one. Of erased decisions only whether
            -- they counted is known.
            ALTER TABLE approval_requests DISABLE TRIGGER guard;
            ALTER TABLE approval_decisions DISABLE TRIGGER guard;
            UPDATE approval_decisions d SET revision = CASE
                WHEN r.params_hash = '' THEN CASE WHEN d.params_hash = '' THEN 1 ELSE 0 END
                ELSE 1 + (SELECT count(*) FROM approval_decisions e
                          WHERE e.request_id = d.request_id AND e.edit IS NOT NULL AND e.id <= d.id) END
            FROM approval_requests r WHERE r.id = d.request_id;
            UPDATE approval_requests r SET revision = 1 + (SELECT count(*) FROM approval_decisions e
                WHERE e.request_id = r.id AND e.edit IS NOT NULL);
            ALTER TABLE approval_requests ENABLE TRIGGER guard;
            ALTER TABLE approval_decisions ENABLE TRIGGER guard;
            """,
            functions("approvals/requests", "lock_deciders"),
            """
            -- Erasure keeps whether a decision counted.
            GRANT SELECT (revision, approved_by) ON approval_requests TO toolgate_system;
            GRANT SELECT (revision, user_id) ON approval_decisions TO toolgate_system;
            """,
        ),
        migrations.AddConstraint(
            "approvaldecision",
            # Who has approved may still deny.
            models.UniqueConstraint(
                fields=["tenant", "request", "user", "revision", "verdict"], name="approval_decisions_once"
            ),
        ),
    ]
