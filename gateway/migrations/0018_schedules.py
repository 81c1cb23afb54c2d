import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls

_ALL = "SELECT, INSERT, UPDATE, DELETE"


class Migration(migrations.Migration):
    """Schedules, and the times at which they were due."""

    dependencies = [
        ("gateway", "0017_session_tree"),
        ("tenants", "0021_fetch_hosts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Schedule",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "cron",
                    models.TextField(help_text="Five fields: minute, hour, day of the month, month, day of the week."),
                ),
                ("tz", models.TextField(help_text='Whose hours and days the fields mean, such as "Europe/Berlin".')),
                ("content", models.TextField(help_text="What the agent is asked.")),
                ("enabled", models.BooleanField(db_default=True)),
                (
                    "paused_because",
                    models.TextField(db_default="", help_text="Why it is paused, when Toolgate paused it."),
                ),
                ("next_at", models.DateTimeField(null=True)),
                ("call_id", models.UUIDField(help_text="The tool call that made it; empty: a person did.", null=True)),
                (
                    "conversation_id",
                    models.UUIDField(help_text="The conversation in which that call was made.", null=True),
                ),
                (
                    "taint",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        db_default=[],
                        help_text="What the conversation had read in which it was made or changed.",
                        size=None,
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "agent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        help_text="Empty: the tenant's default agent of the moment.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="gateway.agent",
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
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "schedules",
                "ordering": ["-created_at", "-id"],
            },
        ),
        migrations.CreateModel(
            name="ScheduleSlot",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("slot_at", models.DateTimeField()),
                ("cause", models.TextField(choices=[("time", "On time"), ("run_now", "By hand")])),
                (
                    "status",
                    models.TextField(choices=[("begun", "Begun"), ("skipped", "Skipped"), ("refused", "Refused")]),
                ),
                ("code", models.TextField(help_text="Why it was skipped or refused.", null=True)),
                ("message", models.TextField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="gateway.run",
                    ),
                ),
                (
                    "schedule",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="slots",
                        to="gateway.schedule",
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
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "schedule_slots",
                "ordering": ["-slot_at"],
            },
        ),
        migrations.AddIndex(
            model_name="schedule",
            index=models.Index(fields=["tenant", "user", "-created_at"], name="schedules_of_user"),
        ),
        migrations.AddIndex(
            model_name="schedule",
            index=models.Index(condition=models.Q(("enabled", True)), fields=["next_at"], name="schedules_due"),
        ),
        migrations.AddConstraint(
            model_name="schedule",
            constraint=models.CheckConstraint(
                condition=models.Q(("enabled", True), ("next_at", None), _connector="OR"),
                name="schedules_paused_have_no_next",
            ),
        ),
        migrations.AddIndex(
            model_name="scheduleslot",
            index=models.Index(fields=["created_at"], name="schedule_slots_age"),
        ),
        migrations.AddIndex(
            model_name="scheduleslot",
            index=models.Index(fields=["tenant", "run"], name="schedule_slots_run"),
        ),
        migrations.AddConstraint(
            model_name="scheduleslot",
            constraint=models.UniqueConstraint(fields=("tenant", "schedule", "slot_at"), name="schedule_slots_once"),
        ),
        migrations.AddConstraint(
            model_name="scheduleslot",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("code", None), ("status", "begun")),
                    models.Q(("code__isnull", False), ("run", None), ("status__in", ["skipped", "refused"])),
                    _connector="OR",
                ),
                name="schedule_slots_run_or_reason",
            ),
        ),
        rls.operation(
            rls.isolate("schedules"),
            rls.isolate("schedule_slots"),
            rls.target("schedules"),
            rls.tenant_key("schedules", "agent_id", "agents"),
            rls.tenant_key("schedule_slots", "schedule_id", "schedules"),
            rls.tenant_key("schedule_slots", "run_id", "runs", on_delete="SET NULL (run_id)"),
            rls.grant("schedules", app=_ALL, system="SELECT (id, tenant_id, user_id, enabled, next_at)", operator=_ALL),
            rls.grant("schedule_slots", app=_ALL, system="SELECT (tenant_id, created_at), DELETE", operator=_ALL),
        ),
    ]
