from django.db import migrations

import tenants.scope.jsonb


class Migration(migrations.Migration):
    """Versions of files that messages refer to."""

    dependencies = [("gateway", "0023_embedding_usage"), ("tools", "0012_attached_contents")]

    operations = [
        migrations.AddField(
            model_name="message",
            name="attachments",
            field=tenants.scope.jsonb.JSONField(
                db_default=[],
                default=list,
                help_text="Versions of files: file_id, path, version, media_type, size, sha256.",
            ),
        ),
    ]
