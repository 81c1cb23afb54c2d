import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions

# What decides whether a person's calls may send there without asking.
_DECIDES = (
    "(OLD.verified_at, OLD.removed_at, OLD.folded) IS DISTINCT FROM (NEW.verified_at, NEW.removed_at, NEW.folded)"
)


class Migration(migrations.Migration):
    """Where people have messages sent, and what was sent there."""

    dependencies = [
        ("notifications", "0004_inbox"),
        ("tenants", "0018_profiles"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="notification",
            name="destination_id",
            field=models.UUIDField(null=True),
        ),
        migrations.AddField(
            model_name="notification",
            name="message_id",
            field=models.UUIDField(null=True),
        ),
        migrations.CreateModel(
            name="Destination",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(help_text="What its person calls it.", max_length=64)),
                ("folded", models.CharField(help_text="The name as names are compared.", max_length=200)),
                ("channel", models.TextField(help_text="Its name in notifications.channels.registry.")),
                ("destination", models.CharField(help_text="What may be shown of where it leads.", max_length=2048)),
                (
                    "secret",
                    models.TextField(blank=True, editable=False, help_text="What its channel keeps secret, encrypted."),
                ),
                ("reminders", models.BooleanField(default=False, help_text="Reminders are sent to it, too.")),
                ("token_hash", models.CharField(blank=True, help_text="Of the link that verifies it.", max_length=64)),
                ("asked_at", models.DateTimeField(help_text="When it was last asked to be verified.", null=True)),
                ("verified_at", models.DateTimeField(null=True)),
                ("disabled_because", models.TextField(blank=True, db_default="", default="")),
                ("removed_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "db_table": "destinations",
                "ordering": ["-created_at"],
            },
        ),
        migrations.CreateModel(
            name="SentMessage",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "key",
                    models.CharField(help_text="Written twice under the same key, it is one message.", max_length=200),
                ),
                ("kind", models.CharField(help_text="message or reminder", max_length=32)),
                ("channel", models.TextField()),
                ("recipient", models.CharField(help_text="The destination's name, or the address.", max_length=254)),
                ("text", models.TextField()),
                ("operation", models.JSONField(null=True)),
                ("call_id", models.UUIDField(null=True)),
                (
                    "status",
                    models.TextField(
                        choices=[("waiting", "Waiting"), ("delivered", "Delivered"), ("failed", "Failed")],
                        db_default="waiting",
                        default="waiting",
                    ),
                ),
                ("problem", models.TextField(blank=True, db_default="", default="")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "destination",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="notifications.destination",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "db_table": "sent_messages",
                "ordering": ["-created_at"],
            },
        ),
        migrations.AddIndex(
            model_name="destination",
            index=models.Index(fields=["tenant", "user", "-created_at"], name="destinations_recent"),
        ),
        migrations.AddConstraint(
            model_name="destination",
            constraint=models.UniqueConstraint(
                condition=models.Q(("removed_at", None)), fields=("tenant", "user", "folded"), name="destinations_name"
            ),
        ),
        migrations.AddIndex(
            model_name="sentmessage",
            index=models.Index(fields=["tenant", "user", "-created_at", "-id"], name="sent_messages_recent"),
        ),
        migrations.AddIndex(
            model_name="sentmessage",
            index=models.Index(fields=["created_at"], name="sent_messages_old"),
        ),
        migrations.AddIndex(
            model_name="sentmessage",
            index=models.Index(
                condition=models.Q(("call_id__isnull", False)), fields=["call_id"], name="sent_messages_of_call"
            ),
        ),
        migrations.AddConstraint(
            model_name="sentmessage",
            constraint=models.UniqueConstraint(fields=("tenant", "user", "key"), name="sent_messages_key"),
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(
                condition=models.Q(("message_id__isnull", False)),
                fields=["tenant", "message_id"],
                name="notifications_of_message",
            ),
        ),
        migrations.AddIndex(
            model_name="sentmessage",
            index=models.Index(
                condition=models.Q(("destination__isnull", False)),
                fields=["tenant", "destination"],
                name="sent_messages_where",
            ),
        ),
        rls.operation(
            "ALTER TABLE notifications DROP CONSTRAINT notifications_receiver;",
            """
            ALTER TABLE notifications ADD CONSTRAINT notifications_receiver CHECK (CASE WHEN message_id IS NULL
                THEN num_nonnulls(target_id, recipient_id) > 0 AND destination_id IS NULL
                ELSE num_nonnulls(target_id, recipient_id) = 0 END);
            """,
            rls.isolate("destinations", personal=True),
            rls.isolate("sent_messages", personal=True),
            rls.target("destinations"),
            rls.target("sent_messages"),
            rls.tenant_key("sent_messages", "destination_id", "destinations"),
            rls.tenant_key("notifications", "message_id", "sent_messages"),
            rls.grant("destinations", app="SELECT, INSERT, UPDATE, DELETE", operator="SELECT"),
            rls.grant(
                "sent_messages",
                app="SELECT, INSERT, UPDATE, DELETE",
                # What is old is dropped, unread.
                system="SELECT (id, created_at, status), DELETE",
                operator="SELECT",
            ),
            rls.changes_rights("destinations", on="UPDATE", when=_DECIDES),
            rls.changes_rights("destinations", on="DELETE", when="OLD.verified_at IS NOT NULL"),
            functions("notifications", "erase_sent_messages"),
        ),
    ]
