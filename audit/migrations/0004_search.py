from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("audit", "0003_sealing")]

    operations: list[migrations.operations.base.Operation] = []
