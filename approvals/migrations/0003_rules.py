from django.db import migrations

from tenants.scope import rls


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0002_notices"),
    ]

    operations = [
        rls.operation(
            """
            -- What a rule is about never changes, whoever asks; and no row is wider than the services would make it.
            REVOKE UPDATE ON approval_rules FROM toolgate_app, toolgate_operator;
            GRANT UPDATE (name, enabled, uses_left, expires_at, owner_id, updated_at) ON approval_rules
                TO toolgate_app, toolgate_operator;
            ALTER TABLE approval_rules
                ADD CONSTRAINT approval_rules_effect CHECK (effect IN ('approve', 'deny')),
                ADD CONSTRAINT approval_rules_one_tool CHECK (effect = 'deny' OR tool_name <> '*'),
                ADD CONSTRAINT approval_rules_ends CHECK (effect = 'deny' OR expires_at IS NOT NULL),
                ADD CONSTRAINT approval_rules_uses CHECK (effect = 'approve' AND uses_left >= 0 OR uses_left IS NULL),
                ADD CONSTRAINT approval_rules_condition CHECK (jsonb_typeof(condition) = 'object');
            """
        ),
    ]
