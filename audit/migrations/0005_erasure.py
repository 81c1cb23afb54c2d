from django.db import migrations

from tenants import rls


class Migration(migrations.Migration):
    dependencies = [("audit", "0004_search")]

    operations = [
        rls.operation(
            """
            -- What a reader was shown lately, and what of it the page of readings lists by reader.
            CREATE INDEX history_reads_of_reader ON history_reads (tenant_id, reader_id, id DESC);
            """
        ),
    ]
