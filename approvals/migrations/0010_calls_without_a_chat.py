from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0009_notifications")]

    operations = [
        migrations.AlterField(
            "approvalrequest", "run_id", models.UUIDField(null=True, help_text="Empty for a call without a chat.")
        ),
        migrations.AlterField("approvalrequest", "conversation_id", models.UUIDField(null=True)),
    ]
