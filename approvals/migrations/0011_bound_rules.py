from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0010_calls_without_a_chat")]

    operations = [
        migrations.AddField(
            "approvalrule",
            "binding",
            models.TextField(
                blank=True,
                default="",
                db_default="",
                help_text="Of a service's tool, what its definition was when the rule was made.",
            ),
        ),
    ]
