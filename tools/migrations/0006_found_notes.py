from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """Lets notes be found by their words."""

    dependencies = [("tools", "0005_settings_of_owners"), ("tenants", "0018_profiles")]

    operations = [
        migrations.AddField(
            "note", "language", models.CharField(max_length=16, default="english", db_default="english")
        ),
        rls.operation(
            functions("tools/stores", "note_terms"),
            "ALTER TABLE notes ADD COLUMN terms tsvector GENERATED ALWAYS AS "
            "(note_terms(language, title, content, tags, user_id)) STORED;",
            "CREATE INDEX notes_terms ON notes USING gin (terms);",
            functions("tools/stores", "find_notes", "notes_follow_language"),
            "CREATE TRIGGER notes_follow_language AFTER UPDATE OF language ON users FOR EACH ROW "
            "WHEN (OLD.language <> NEW.language) EXECUTE FUNCTION notes_follow_language();",
        ),
    ]
