from django.db import migrations, models

import tenants.scope.jsonb


class Migration(migrations.Migration):
    """How many tools an agent's model is shown, and which it is shown all the same."""

    dependencies = [("gateway", "0010_questions")]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="max_offered_tools",
            field=models.PositiveSmallIntegerField(
                blank=True,
                help_text="With more tools than this, its model finds them with tools_search; empty: "
                "the operator's number.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="pinned_tools",
            field=models.JSONField(
                blank=True,
                decoder=tenants.scope.jsonb.Decoder,
                default=list,
                help_text='What its model is shown of them all the same: names, "service.*".',
            ),
        ),
    ]
