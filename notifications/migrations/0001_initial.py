"""The tables of webhooks and of what was to be sent about approvals become those of targets and notifications."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls

_TARGETS = """
    ALTER TABLE webhook_endpoints RENAME TO notification_targets;
    ALTER TABLE notification_targets RENAME COLUMN url TO destination;
    ALTER TABLE notification_targets
        ADD COLUMN channel text NOT NULL DEFAULT 'webhook',
        ADD COLUMN name varchar(200) NOT NULL DEFAULT '',
        -- What every webhook got so far.
        ADD COLUMN events text[] NOT NULL DEFAULT ARRAY['approval.requested', 'approval.approved', 'approval.denied',
            'approval.expired', 'approval.cancelled'];
    ALTER TABLE notification_targets
        ALTER COLUMN channel DROP DEFAULT, ALTER COLUMN name DROP DEFAULT, ALTER COLUMN events DROP DEFAULT;
    ALTER TABLE notification_targets RENAME CONSTRAINT webhook_endpoints_pkey TO notification_targets_pkey;
    ALTER TABLE notification_targets
        RENAME CONSTRAINT webhook_endpoints_tenant_id_key TO notification_targets_tenant_id_key;
    ALTER INDEX webhook_endpoints_enabled RENAME TO notification_targets_enabled;
    CREATE UNIQUE INDEX notification_targets_email ON notification_targets (tenant_id, destination)
        WHERE channel = 'email';
"""
# Times as the payload has always had them.
_TIME = """to_char(r.{} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""
_NOTIFICATIONS = f"""
    ALTER TABLE approval_notices RENAME TO notifications;
    ALTER TABLE notifications RENAME COLUMN request_id TO subject_id;
    ALTER TABLE notifications RENAME COLUMN endpoint_id TO target_id;
    ALTER TABLE notifications RENAME COLUMN user_id TO recipient_id;
    ALTER TABLE notifications DROP CONSTRAINT approval_notices_request_id_same_tenant;
    ALTER TABLE notifications ADD COLUMN user_id uuid, ADD COLUMN payload text, ADD COLUMN channel text;
    UPDATE notifications n SET
        user_id = r.user_id,
        channel = CASE WHEN n.target_id IS NULL THEN 'email' ELSE 'webhook' END,
        payload = json_build_object(
            'id', r.id,
            'status', CASE n.event WHEN 'requested' THEN 'pending' ELSE n.event END,
            'tool', r.tool_name,
            'tier', r.tier,
            'user', json_build_object('id', r.user_id),
            'run_id', r.run_id,
            'created_at', {_TIME.format("created_at")},
            'expires_at', {_TIME.format("expires_at")},
            'url', '/approvals/' || r.id || '/'
        )::text,
        event = 'approval.' || n.event
        FROM approval_requests r WHERE r.id = n.subject_id;
    -- Members are not asked about what is over; from now on, what ends a request says so here.
    UPDATE notifications n SET status = 'failed', finished_at = now(),
        problem = 'The request was over before it could be sent.'
        FROM approval_requests r WHERE r.id = n.subject_id AND r.status <> 'pending'
            AND n.status = 'waiting' AND n.recipient_id IS NOT NULL;
    SET CONSTRAINTS ALL IMMEDIATE;
    ALTER TABLE notifications
        ALTER COLUMN user_id SET NOT NULL, ALTER COLUMN payload SET NOT NULL, ALTER COLUMN channel SET NOT NULL;
    ALTER TABLE notifications DROP CONSTRAINT approval_notices_receiver;
    ALTER TABLE notifications ADD CONSTRAINT notifications_receiver CHECK (num_nonnulls(target_id, recipient_id) > 0);
    ALTER TABLE notifications RENAME CONSTRAINT approval_notices_status TO notifications_status;
    ALTER TABLE notifications RENAME CONSTRAINT approval_notices_of_member TO notifications_of_member;
    ALTER TABLE notifications RENAME CONSTRAINT approval_notices_pkey TO notifications_pkey;
    ALTER TABLE notifications
        RENAME CONSTRAINT approval_notices_endpoint_id_same_tenant TO notifications_target_id_same_tenant;
    ALTER INDEX approval_notices_of_tenant RENAME TO notifications_of_tenant;
    ALTER INDEX approval_notices_due RENAME TO notifications_due;
    ALTER INDEX approval_notices_over RENAME TO notifications_over;
"""
# So that the admin's history of a webhook stays that of the target.
_CONTENT_TYPES = """
    UPDATE django_content_type SET app_label = 'notifications', model = 'notificationtarget'
        WHERE app_label = 'approvals' AND model = 'webhookendpoint';
    UPDATE django_content_type SET app_label = 'notifications', model = 'notification'
        WHERE app_label = 'approvals' AND model = 'approvalnotice';
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        # The last one that knows the tables by their old names.
        ("approvals", "0007_decoders"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("tenants", "0003_decoders"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            # Row-level security, policies and grants follow their tables.
            database_operations=[rls.operation(_TARGETS, _NOTIFICATIONS, _CONTENT_TYPES)],
            state_operations=[
                migrations.CreateModel(
                    name="NotificationTarget",
                    fields=[
                        ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ("channel", models.TextField(help_text="Its name in notifications.channels.registry.")),
                        (
                            "name",
                            models.CharField(
                                blank=True, help_text="What you call it; it may be empty.", max_length=200
                            ),
                        ),
                        (
                            "destination",
                            models.CharField(help_text="What may be shown of where it leads.", max_length=2048),
                        ),
                        (
                            "secret",
                            models.TextField(
                                blank=True, editable=False, help_text="What its channel keeps secret, encrypted."
                            ),
                        ),
                        (
                            "events",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.TextField(), help_text="The events that it gets.", size=None
                            ),
                        ),
                        ("enabled", models.BooleanField(default=True)),
                        ("disabled_because", models.TextField(blank=True, default="", editable=False)),
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
                    ],
                    options={
                        "db_table": "notification_targets",
                        "ordering": ["tenant", "created_at"],
                    },
                ),
                migrations.CreateModel(
                    name="Notification",
                    fields=[
                        ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ("user_id", models.UUIDField(help_text="Whose request or run it is.")),
                        ("event", models.TextField()),
                        ("subject_id", models.UUIDField(help_text="The request or run.")),
                        (
                            "payload",
                            models.TextField(help_text="What channels may send, as JSON; its fields keep their order."),
                        ),
                        ("channel", models.TextField()),
                        (
                            "status",
                            models.TextField(
                                choices=[("waiting", "Waiting"), ("delivered", "Delivered"), ("failed", "Failed")],
                                default="waiting",
                            ),
                        ),
                        ("attempts", models.SmallIntegerField(default=0)),
                        (
                            "due_at",
                            models.DateTimeField(
                                help_text="When it is tried next; while it is tried, when that counts as lost."
                            ),
                        ),
                        ("created_at", models.DateTimeField()),
                        ("finished_at", models.DateTimeField(null=True)),
                        ("problem", models.TextField(default="", help_text="Why the last attempt failed.")),
                        (
                            "recipient",
                            models.ForeignKey(
                                db_constraint=False,
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
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
                            "target",
                            models.ForeignKey(
                                db_constraint=False,
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="notifications.notificationtarget",
                            ),
                        ),
                    ],
                    options={
                        "db_table": "notifications",
                        "ordering": ["-created_at"],
                    },
                ),
                migrations.AddIndex(
                    model_name="notificationtarget",
                    index=models.Index(fields=["tenant", "enabled"], name="notification_targets_enabled"),
                ),
                migrations.AddConstraint(
                    model_name="notificationtarget",
                    constraint=models.UniqueConstraint(
                        condition=models.Q(("channel", "email")),
                        fields=("tenant", "destination"),
                        name="notification_targets_email",
                        violation_error_message="The tenant has a target for this already: change that one.",
                    ),
                ),
                migrations.AddIndex(
                    model_name="notification",
                    index=models.Index(
                        condition=models.Q(("status", "waiting")),
                        fields=["tenant", "due_at"],
                        name="notifications_of_tenant",
                    ),
                ),
                migrations.AddIndex(
                    model_name="notification",
                    index=models.Index(
                        condition=models.Q(("status", "waiting")), fields=["due_at"], name="notifications_due"
                    ),
                ),
                migrations.AddIndex(
                    model_name="notification",
                    index=models.Index(
                        condition=models.Q(("status", "waiting"), _negated=True),
                        fields=["finished_at"],
                        name="notifications_over",
                    ),
                ),
            ],
        ),
    ]
