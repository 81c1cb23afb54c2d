"""Row-level security as PostgreSQL's catalogue has it: a table that is added without it fails here."""

import os
import re
from urllib.parse import unquote, urlsplit

import psycopg
import pytest
from django.conf import settings

from tests.database import rows

ROLES = ("toolgate_app", "toolgate_system", "toolgate_operator")
WRITES = ("INSERT", "UPDATE", "DELETE")
# Django's own, which hold no tenant's data: sessions are opaque, the rest is empty or the operators'.
TENANTLESS = {
    "auth_group", "auth_group_permissions", "auth_permission", "django_admin_log", "django_content_type",
    "django_migrations", "django_session", "users_groups", "users_user_permissions",
    # Of allauth: OAuth clients, which serve every tenant, and what Toolgate leaves empty.
    "allauth_idp_oidc_client", "allauth_idp_oidc_token", "account_emailaddress", "account_emailconfirmation",
    # Of users, in whatever tenant they are.
    "mfa_authenticator", "user_sessions",
}  # fmt: skip
PERSONAL = {
    *("notes", "tasks", "conversations", "messages", "turns", "run_requests", "continuations", "idempotency_keys"),
    *("connections", "connection_attempts", "client_grants", "client_tokens", "taint_sources"),
    *("inbox_entries", "destinations", "sent_messages"),
    *("files", "file_versions"),
    *("connections", "connection_attempts", "client_grants", "client_tokens", "taint_sources", "memories"),
    *("inbox_entries", "destinations", "sent_messages", "reminders"),
    *("connections", "connection_attempts", "client_grants", "client_tokens", "taint_sources", "canvas_versions"),
    "embeddings",
}
TABLES = """
    SELECT c.oid, c.relname AS name, c.relrowsecurity AS walled, c.relforcerowsecurity AS forced,
        c.relispartition AS part, pg_get_userbyid(c.relowner) AS owner,
        EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id') AS of_tenant
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY name"""
POLICIES = """
    SELECT tablename AS "table", policyname AS name, roles::text[] AS roles, cmd, permissive, qual, with_check
    FROM pg_policies WHERE schemaname = 'public'"""


def _logins() -> dict[str, str]:
    return {alias: unquote(urlsplit(url).username or "") for alias, url in settings.DATABASE_URLS.items()}


def _may(role: str, table: str, privilege: str) -> bool:
    [row] = rows(
        "SELECT has_table_privilege(%(r)s, %(t)s, %(p)s) OR (%(p)s IN ('SELECT', 'INSERT', 'UPDATE') AND"
        " has_any_column_privilege(%(r)s, %(t)s, %(p)s)) AS may",
        r=role, t=f'public."{table}"', p=privilege,
    )  # fmt: skip
    return bool(row["may"])


def test_every_table_belongs_to_a_tenant_or_is_known_not_to() -> None:
    loose = {table["name"] for table in rows(TABLES) if not table["of_tenant"]}
    assert loose - TENANTLESS == {"tenants", "users", "ledger_tiles", "ledger_checkpoints", "ledger_keys"}


def test_every_table_with_a_tenant_has_enabled_and_forced_row_security() -> None:
    tables = [table for table in rows(TABLES) if table["of_tenant"] or table["name"] in ("tenants", "users")]
    assert len(tables) > 15
    assert [table["name"] for table in tables if not (table["walled"] and table["forced"])] == []


def test_every_table_that_the_app_reaches_has_a_policy_over_the_tenant() -> None:
    policies = rows(POLICIES)
    for table in rows(TABLES):
        if not table["of_tenant"]:
            continue
        of_app = [
            policy for policy in policies if policy["table"] == table["name"] and "toolgate_app" in policy["roles"]
        ]
        assert len(of_app) == 1, table["name"]
        [policy] = of_app
        assert policy["cmd"] == "ALL"
        assert "tenant_id = ( SELECT" in policy["qual"], table["name"]
        assert "current_setting('toolgate.tenant'::text, true)" in policy["qual"]
        if any(_may("toolgate_app", table["name"], privilege) for privilege in ("INSERT", "UPDATE")):
            assert policy["with_check"] == policy["qual"], table["name"]
        assert ("user_id = " in policy["qual"]) == (table["name"] in PERSONAL), table["name"]


def test_no_policy_is_for_everybody() -> None:
    assert [policy for policy in rows(POLICIES) if "public" in policy["roles"]] == []


def test_nobody_but_the_owner_has_a_privilege_on_a_partition() -> None:
    parts = [table["name"] for table in rows(TABLES) if table["part"]]
    assert "tool_calls_default" in parts
    assert len(parts) >= 5
    held = [
        (part, role, privilege)
        for part in parts
        for role in ROLES
        for privilege in ("SELECT", *WRITES, "TRUNCATE")
        if _may(role, part, privilege)
    ]
    assert held == []


@pytest.mark.parametrize("role", ROLES)
def test_nobody_but_the_owner_can_change_the_ledger(role: str) -> None:
    assert [each for each in ("DELETE", "TRUNCATE") if _may(role, "ledger_entries", each)] == []
    columns = [row["name"] for row in rows(
        "SELECT attname AS name FROM pg_attribute WHERE attrelid = 'ledger_entries'::regclass AND attnum > 0"
        " AND NOT attisdropped AND has_column_privilege(%(r)s, attrelid, attnum, 'UPDATE') ORDER BY attname", r=role
    )]  # fmt: skip
    # The sealer gives each entry its place, once: a trigger sees to that.
    assert columns == (["leaf_index", "tenant_index"] if role == "toolgate_system" else [])


def test_the_log_without_a_tenant_is_read_by_all_and_written_by_the_sealer_alone() -> None:
    for table in ("ledger_tiles", "ledger_checkpoints", "ledger_keys"):
        assert all(_may(role, table, "SELECT") for role in ROLES)
        assert [role for role in ROLES if _may(role, table, "INSERT")] == ["toolgate_system"]
        assert not any(_may(role, table, "DELETE") for role in ROLES)


def test_nobody_but_the_owner_truncates_or_deletes_tool_calls() -> None:
    for role in ROLES:
        assert [each for each in ("DELETE", "TRUNCATE") if _may(role, "tool_calls", each)] == []
    assert not any(_may("toolgate_operator", "tool_calls", each) for each in WRITES)
    assert not any(_may("toolgate_system", "tool_calls", each) for each in WRITES)


def test_no_role_has_truncate_references_or_trigger_anywhere() -> None:
    held = [
        (table["name"], role, privilege)
        for table in rows(TABLES)
        for role in ROLES
        for privilege in ("TRUNCATE", "REFERENCES", "TRIGGER")
        if _may(role, table["name"], privilege)
    ]
    assert held == []


def test_the_system_role_reads_no_content() -> None:
    content = ("input", "input_raw", "output", "display", "error_message", "decision", "side_effects", "row_key")
    for column in content:
        [row] = rows("SELECT has_column_privilege('toolgate_system', 'tool_calls', %(c)s, 'SELECT') AS may", c=column)
        assert not row["may"], column
    # Of continuations it sees how old they are, to drop them.
    [row] = rows("SELECT has_column_privilege('toolgate_system', 'continuations', 'digest', 'SELECT') AS may")
    assert not row["may"]
    # Of what is told and sent, too.
    for table, column in (
        ("inbox_entries", "text"),
        ("inbox_entries", "title"),
        ("sent_messages", "text"),
        ("reminders", "text"),
        ("embeddings", "vector"),
    ):
        [row] = rows("SELECT has_column_privilege('toolgate_system', %(t)s, %(c)s, 'SELECT') AS may", t=table, c=column)
        assert not row["may"], table
    for table in (
        *PERSONAL - {"continuations", "idempotency_keys", "inbox_entries", "sent_messages", "reminders", "embeddings"},
        "users",
        "api_keys",
        "memberships",
    ):
        assert not _may("toolgate_system", table, "SELECT"), table


def test_the_logins_are_neither_superusers_nor_past_row_security_nor_owners() -> None:
    logins = _logins()
    owners = {table["owner"] for table in rows(TABLES)}
    assert len(set(logins.values())) == len(logins)
    for alias in ("default", "system", "operator"):
        for role in (logins[alias], *ROLES):
            [row] = rows("SELECT * FROM pg_roles WHERE rolname = %(r)s", r=role)
            assert not (row["rolsuper"] or row["rolbypassrls"] or row["rolcreaterole"] or row["rolcreatedb"])
            assert not row["rolreplication"]
            assert role not in owners
    reached = rows(
        "SELECT m.rolname AS login, array_agg(g.rolname::text ORDER BY g.rolname) AS groups FROM pg_auth_members am"
        " JOIN pg_roles m ON m.oid = am.member JOIN pg_roles g ON g.oid = am.roleid GROUP BY 1"
    )
    groups = {row["login"]: row["groups"] for row in reached}
    for alias, group in zip(("default", "system", "operator"), ROLES, strict=True):
        assert groups[logins[alias]] == [group]
    for role in ROLES:
        assert role not in groups


GROUP_OF = dict(zip(("default", "system", "operator"), ROLES, strict=True))
OTHERS = [(alias, role) for alias, own in GROUP_OF.items() for role in (*ROLES, "owner") if role != own]


@pytest.mark.parametrize(("alias", "role"), OTHERS)
def test_a_login_cannot_become_another(alias: str, role: str) -> None:
    name = unquote(urlsplit(os.environ["DATABASE_OWNER_URL"]).username or "") if role == "owner" else role
    with psycopg.connect(settings.DATABASE_URLS[alias]) as connection, pytest.raises(psycopg.errors.Error) as refused:
        connection.execute(f'SET ROLE "{name}"'.encode())
    assert refused.value.sqlstate == "42501"


CHANGES = [
    "CREATE TABLE mine (x int)",
    "ALTER TABLE notes DISABLE ROW LEVEL SECURITY",
    "DROP POLICY app ON notes",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE SCHEMA mine",
    "ALTER TABLE notes OWNER TO CURRENT_USER",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "SET session_replication_role = replica",
    "GRANT SELECT ON notes TO PUBLIC",
]


@pytest.mark.parametrize("statement", CHANGES)
@pytest.mark.parametrize("alias", ["default", "system", "operator"])
def test_no_login_changes_row_level_security(alias: str, statement: str) -> None:
    with psycopg.connect(settings.DATABASE_URLS[alias]) as connection:
        try:
            connection.execute(statement.encode())
        except psycopg.errors.InsufficientPrivilege:
            return
    # PostgreSQL only warns about a GRANT by somebody who may grant nothing.
    assert statement.startswith("GRANT")
    [row] = rows("SELECT has_table_privilege('public', 'notes', 'SELECT') AS may")
    assert not row["may"]


def test_security_definer_functions_are_fixed_and_closed_to_the_public() -> None:
    functions = rows(
        "SELECT p.oid::regprocedure::text AS name, p.prosecdef AS definer, p.proconfig AS config,"
        " has_function_privilege('public', p.oid, 'EXECUTE') AS public FROM pg_proc p"
        " JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'public'"
    )
    definers = [function for function in functions if function["definer"]]
    assert len(definers) >= 9
    for function in definers:
        # How long one waits for a lock says nothing about what it reaches.
        config = [each for each in function["config"] if not each.startswith("lock_timeout=")]
        assert config == ["search_path=public, pg_temp"], function["name"]
        assert not function["public"], function["name"]


def test_tables_that_hang_on_others_hang_within_the_tenant() -> None:
    keys = rows(
        "SELECT c.conname AS name, c.conrelid::regclass::text AS source, c.confrelid::regclass::text AS target,"
        " (SELECT array_agg(a.attname::text ORDER BY k.n) FROM unnest(c.conkey) WITH ORDINALITY k (num, n)"
        "  JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.num) AS columns"
        " FROM pg_constraint c JOIN pg_class s ON s.oid = c.conrelid"
        " WHERE c.contype = 'f' AND c.conparentid = 0 AND NOT s.relispartition"
    )
    of_tenant = {table["name"] for table in rows(TABLES) if table["of_tenant"]}
    across_tenants = [
        (key["source"], key["columns"], key["target"])
        for key in keys
        if key["source"] in of_tenant and key["target"] in of_tenant and "tenant_id" not in key["columns"]
    ]
    assert across_tenants == []
    tied = {(key["source"], key["target"]) for key in keys if len(key["columns"]) == 2}
    assert tied >= {
        ("runs", "conversations"), ("runs", "agents"), ("messages", "conversations"), ("messages", "runs"),
        ("turns", "runs"), ("api_keys", "memberships"), ("grants", "memberships"),
    }  # fmt: skip


def test_unique_constraints_of_names_include_the_tenant() -> None:
    found = rows(
        "SELECT t.relname AS table, i.indexrelid::regclass::text AS index, pg_get_indexdef(i.indexrelid) AS definition"
        " FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace"
        " WHERE n.nspname = 'public' AND i.indisunique AND NOT i.indisprimary AND NOT t.relispartition"
    )
    of_tenant = {table["name"] for table in rows(TABLES) if table["of_tenant"]}
    without = {row["index"] for row in found if row["table"] in of_tenant and "tenant_id" not in row["definition"]}
    # A key's or link's hash and a conversation's id belong to one tenant by what they are; the log is one for all.
    of_all = {"runs_one_open", "ledger_entries_leaf"}
    assert {name for name in without if not re.search("(key|token)_hash", name)} == of_all
