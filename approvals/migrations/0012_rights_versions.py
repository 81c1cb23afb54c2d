from django.db import migrations

from tenants.scope import rls

# Not what counts the uses of a rule, until none is left: whoever goes by more than are left is refused when they are
# counted.
_MEANING = (
    "name",
    "effect",
    "tool_name",
    "user_id",
    "role",
    "agent",
    "condition",
    "expires_at",
    "enabled",
    "owner_id",
    "binding",
)


class Migration(migrations.Migration):
    dependencies = [("approvals", "0011_bound_rules"), ("tenants", "0005_rights_versions")]

    operations = [
        rls.operation(
            rls.changes_rights("approval_rules", on="INSERT OR DELETE"),
            rls.changes_rights(
                "approval_rules",
                on="UPDATE",
                when=" OR ".join(
                    [
                        *(f"OLD.{name} IS DISTINCT FROM NEW.{name}" for name in _MEANING),
                        "coalesce(NEW.uses_left > OLD.uses_left, NEW.uses_left IS DISTINCT FROM OLD.uses_left)",
                        "coalesce(NEW.uses_left = 0 AND OLD.uses_left > 0, false)",
                    ]
                ),
            ),
        )
    ]
