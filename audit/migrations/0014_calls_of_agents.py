from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions

_CODES = [
    ("not_allowed", "Not Allowed"),
    ("validation_error", "Validation Error"),
    ("permission_denied", "Permission Denied"),
    ("policy_denied", "Policy Denied"),
    ("rate_limited", "Rate Limited"),
    ("approval_denied", "Approval Denied"),
    ("approval_expired", "Approval Expired"),
    ("cancelled", "Cancelled"),
    ("timeout", "Timeout"),
    ("execution_error", "Execution Error"),
    ("unavailable", "Unavailable"),
    ("outcome_unknown", "Outcome Unknown"),
    ("killed", "Killed"),
]


class Migration(migrations.Migration):
    """Through which agent and by which model a call was made; no call begins that a kill switch stops."""

    dependencies = [("audit", "0013_setting_changes"), ("tenants", "0014_kill_switches")]

    operations = [
        migrations.AddField(
            model_name="toolcall",
            name="agent",
            field=models.TextField(help_text="The slug of the run's agent when the call was made.", null=True),
        ),
        migrations.AddField(
            model_name="toolcall",
            name="model",
            field=models.TextField(help_text="The model that made the call, as provider/model.", null=True),
        ),
        migrations.AlterField(
            model_name="toolcall",
            name="error_code",
            field=models.TextField(choices=_CODES, null=True),
        ),
        rls.operation(functions("audit/calls", "record_calls", "claim_tool_call", "lock_tool_call")),
    ]
