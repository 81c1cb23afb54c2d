from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("audit", "0004_search")]

    operations: list[migrations.operations.base.Operation] = []
