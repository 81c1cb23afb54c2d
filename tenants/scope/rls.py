"""Row-level security, as SQL for migrations: every table with a tenant is protected the same way.

The app's role sees the rows of the tenant (and, in personal tables, of the user) that the
transaction has set, and none without a setting. The settings are read in a sub-select, so
PostgreSQL reads them once a query and not once a row.
"""

from django.db import migrations

APP, SYSTEM, OPERATOR = "toolgate_app", "toolgate_system", "toolgate_operator"
TENANT = "(SELECT nullif(current_setting('toolgate.tenant', true), '')::uuid)"
USER = "(SELECT nullif(current_setting('toolgate.user', true), '')::uuid)"


def isolate(table: str, *, personal: bool = False, shared: bool = False) -> str:
    """SQL that restricts the app to the tenant's rows of `table`, and to the user's when `personal`; with `shared` to
    those of no user, too."""
    of_user = f" AND (user_id = {USER} OR user_id IS NULL)" if shared else f" AND user_id = {USER}"
    visible = f"tenant_id = {TENANT}" + (of_user if personal else "")
    return f"""
        ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
        ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
        CREATE POLICY app ON {table} TO {APP} USING ({visible}) WITH CHECK ({visible});
        CREATE POLICY system ON {table} TO {SYSTEM} USING (true) WITH CHECK (true);
        CREATE POLICY operator ON {table} TO {OPERATOR} USING (true) WITH CHECK (true);
    """


def grant(table: str, *, app: str = "", system: str = "", operator: str = "") -> str:
    """SQL that gives the three roles their privileges on `table`; an empty one gets none."""
    pairs = ((APP, app), (SYSTEM, system), (OPERATOR, operator))
    return "".join(f"GRANT {privileges} ON {table} TO {role};" for role, privileges in pairs if privileges)


def tenant_key(table: str, column: str, target: str, *, on_delete: str = "CASCADE") -> str:
    """SQL for a foreign key that cannot cross tenants: (tenant_id, column) → target (tenant_id, id)."""
    return (
        f"ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_same_tenant FOREIGN KEY (tenant_id, {column}) "
        f"REFERENCES {target} (tenant_id, id) ON DELETE {on_delete};"
    )


def target(table: str) -> str:
    """SQL for the unique key that `tenant_key` needs on the table it points at."""
    return f"ALTER TABLE {table} ADD CONSTRAINT {table}_tenant_id_key UNIQUE (tenant_id, id);"


def changes_rights(
    table: str,
    *,
    on: str = "INSERT OR UPDATE OR DELETE",
    when: str = "",
    named: str = "tenant_id",
    function: str = "rights_changed",
) -> str:
    """SQL of a trigger of a table that says what members may do: a change of it changes the version of their rights.

    `when`: which changes do; all of them without it. `named`: the column of the tenant's id.
    """
    name = f"rights_changed_on_{'_'.join(on.lower().split(' or '))}"
    return (
        f"CREATE CONSTRAINT TRIGGER {name} AFTER {on} ON {table} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
        f"{f'WHEN ({when}) ' if when else ''}EXECUTE FUNCTION {function}('{named}');"
    )


def operation(*statements: str) -> migrations.RunSQL:
    """The statements as one migration operation; tables go with their own migration, so nothing is reversed here."""
    return migrations.RunSQL("".join(statements), migrations.RunSQL.noop)
