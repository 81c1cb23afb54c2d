from django.db import migrations, models

from tenants.scope import rls


class Migration(migrations.Migration):
    dependencies = [("audit", "0008_functions")]

    operations = [
        migrations.AddField(
            "toolcall",
            "origin",
            models.TextField(
                choices=[
                    ("chat", "Chat"),
                    ("api", "Api"),
                    ("mcp", "Mcp"),
                    ("schedule", "Schedule"),
                    ("native", "Native"),
                ],
                default="chat",
                db_default="chat",
            ),
        ),
        migrations.AlterField("toolcall", "conversation_id", models.UUIDField(null=True)),
        migrations.AlterField("toolcall", "message_id", models.UUIDField(null=True)),
        migrations.AlterField(
            "toolcall", "run_id", models.UUIDField(null=True, help_text="Empty for a call without a chat.")
        ),
        migrations.AlterField(
            "toolcall", "turn", models.IntegerField(null=True, help_text="The run's turn that made the call, from 1.")
        ),
        rls.operation(
            """
            ALTER TABLE tool_calls ADD CONSTRAINT tool_calls_origin CHECK (
                origin IN ('chat', 'api', 'mcp', 'schedule', 'native') AND (origin <> 'chat' OR
                num_nulls(conversation_id, message_id, run_id, turn) = 0));
            """
        ),
    ]
