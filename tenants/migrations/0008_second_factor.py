from django.db import migrations

from tenants.scope import rls


class Migration(migrations.Migration):
    """What allauth stores of second factors is seen by its user alone, and removed by operators."""

    dependencies = [("tenants", "0007_own_settings"), ("mfa", "0003_authenticator_type_uniq")]

    operations = [
        rls.operation(
            f"""
            ALTER TABLE mfa_authenticator ENABLE ROW LEVEL SECURITY;
            ALTER TABLE mfa_authenticator FORCE ROW LEVEL SECURITY;
            CREATE POLICY app ON mfa_authenticator TO {rls.APP}
                USING (user_id = {rls.USER}) WITH CHECK (user_id = {rls.USER});
            CREATE POLICY operator ON mfa_authenticator TO {rls.OPERATOR} USING (true) WITH CHECK (true);
            """,
            rls.grant("mfa_authenticator", app="SELECT, INSERT, UPDATE, DELETE", operator="SELECT, UPDATE, DELETE"),
        )
    ]
