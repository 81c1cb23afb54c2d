import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """Where users are logged in is seen by them alone."""

    dependencies = [("tenants", "0010_rights_of_keys"), ("sessions", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="UserSession",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("session_key", models.CharField(editable=False, max_length=40, unique=True)),
                ("address", models.CharField(blank=True, max_length=45)),
                (
                    "agent",
                    models.CharField(blank=True, help_text="What its browser calls itself.", max_length=300),
                ),
                ("created_at", models.DateTimeField(help_text="When its user logged in.")),
                ("last_used_at", models.DateTimeField()),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sessions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"db_table": "user_sessions", "ordering": ["-last_used_at"]},
        ),
        rls.operation(
            f"""
            ALTER TABLE user_sessions ADD CONSTRAINT user_sessions_of_session FOREIGN KEY (session_key)
                REFERENCES django_session (session_key) ON DELETE CASCADE;
            ALTER TABLE user_sessions ENABLE ROW LEVEL SECURITY;
            ALTER TABLE user_sessions FORCE ROW LEVEL SECURITY;
            CREATE POLICY app ON user_sessions TO {rls.APP}
                USING (user_id = {rls.USER}) WITH CHECK (user_id = {rls.USER});
            CREATE POLICY operator ON user_sessions TO {rls.OPERATOR} USING (true) WITH CHECK (true);
            """,
            rls.grant("user_sessions", app="SELECT", operator="SELECT, DELETE"),
            functions("tenants/login", "end_sessions", "record_session_use"),
        ),
    ]
