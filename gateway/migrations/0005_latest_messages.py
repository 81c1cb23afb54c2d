from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("gateway", "0004_decoders")]

    operations = [
        migrations.AddIndex(
            model_name="message",
            index=models.Index(fields=["tenant", "user", "-created_at"], name="messages_latest"),
        ),
    ]
