from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """Usage of what no run asks for: embeddings."""

    dependencies = [("gateway", "0022_runs_by_id"), ("tools", "0011_embeddings")]

    operations = [
        migrations.AlterField("turnusage", "run_id", models.UUIDField(null=True)),
        rls.operation(functions("gateway/budgets", "charge_embedding", "settle_embedding")),
    ]
