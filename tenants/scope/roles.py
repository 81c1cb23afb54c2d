"""Database roles: the three groups that migrations grant to, and the logins that belong to them.

owner     migrates; bypasses row security; never held by web or worker
app       web and worker; row security applies
system    sweeper and partitions; sees every tenant, may do very little
operator  superusers' admin; sees every tenant

Roles belong to the whole cluster, so a login says which database it is for: it alone may connect to it, by a GRANT that
`setup` makes. The password of a login that may serve another database too is never changed here.
"""

from urllib.parse import unquote, urlsplit

import psycopg
from psycopg import sql

from tenants.scope.rls import APP, OPERATOR, SYSTEM

GROUPS = {"default": APP, "system": SYSTEM, "operator": OPERATOR}
SETTINGS = {"default": "DATABASE_URL", "system": "DATABASE_SYSTEM_URL", "operator": "DATABASE_OPERATOR_URL"}
# One setup of a database at a time: two that change one role would make PostgreSQL refuse the second.
_ONE_AT_A_TIME = "SELECT pg_advisory_lock(hashtext('toolgate setup_database'))"
# Databases whose CONNECT was granted to this login, and Toolgate databases of which nobody knows their logins, because
# a release that granted no CONNECT has set them up. What is in another database shows in pg_shdepend only.
_OTHER_DATABASES = """
    SELECT datname FROM pg_database d WHERE datname <> current_database() AND (
        EXISTS (SELECT FROM aclexplode(d.datacl) a JOIN pg_roles r ON r.oid = a.grantee
            WHERE r.rolname = %(login)s AND a.privilege_type = 'CONNECT')
        OR (
            EXISTS (SELECT FROM pg_shdepend s JOIN pg_roles r ON r.oid = s.refobjid
                WHERE s.dbid = d.oid AND s.refclassid = 'pg_authid'::regclass AND r.rolname = %(group)s)
            AND NOT EXISTS (SELECT FROM aclexplode(d.datacl) a JOIN pg_auth_members m ON m.member = a.grantee
                JOIN pg_roles r ON r.oid = m.roleid
                WHERE r.rolname = %(group)s AND a.privilege_type = 'CONNECT' AND a.grantee <> d.datdba)
        )
    ) ORDER BY datname"""

_MAY_ALTER = """
    SELECT EXISTS (SELECT FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid
            WHERE r.rolname = %(login)s AND m.member = current_user::regrole AND m.admin_option)
        OR (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)"""


class SetupRefused(Exception):
    """The database cannot be set up as asked; the message says what is wrong and what to do."""


def setup(owner_url: str, urls: dict[str, str]) -> list[str]:
    """Make the groups and logins (`urls`: alias → URL) with the owner's login; returns what was done, a line each.

    A login gets the password of its URL also when it was there already. Raises SetupRefused.
    """
    done: list[str] = []
    try:
        with psycopg.connect(owner_url, autocommit=True) as connection:
            _check_owner(connection)
            connection.execute(_ONE_AT_A_TIME)
            for alias, group in GROUPS.items():
                if not _exists(connection, group):
                    connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(group)))
                    done.append(f"created role {group}")
                done += _set_up_login(connection, alias, urls[alias])
            # From here on only these logins, the owner and superusers may connect.
            connection.execute(sql.SQL("REVOKE CONNECT ON DATABASE {} FROM PUBLIC").format(_database(connection)))
            done += _extend(connection)
    except psycopg.errors.InsufficientPrivilege as error:
        raise SetupRefused(
            f"PostgreSQL refused to set up the roles: {_first_line(error)}; the owner must own the database, and where "
            f"another one made Toolgate's roles in this cluster, that one or a superuser runs "
            f"GRANT {', '.join(GROUPS.values())} TO {_login(owner_url)} WITH ADMIN OPTION"
        ) from error
    except psycopg.Error as error:
        raise SetupRefused(f"PostgreSQL refused to set up the roles: {_first_line(error)}") from error
    return done


def _extend(connection: psycopg.Connection) -> list[str]:
    """Make the extension that search by meaning needs, where the server has it and the owner may."""
    row = connection.execute(
        "SELECT installed_version IS NULL FROM pg_available_extensions WHERE name = 'vector'"
    ).fetchone()
    if row is None or not row[0]:
        return []
    try:
        connection.execute("CREATE EXTENSION vector SCHEMA public")
    except psycopg.errors.InsufficientPrivilege:
        return ["no search by meaning until a superuser runs CREATE EXTENSION vector SCHEMA public in this database"]
    return ["created the extension vector"]


def _set_up_login(connection: psycopg.Connection, alias: str, url: str) -> list[str]:
    group, login, done = GROUPS[alias], _login(url), []
    name, password = sql.Identifier(login), sql.Literal(unquote(urlsplit(url).password or ""))
    # Asked first, so that a refused statement with a password in it never reaches the server's log.
    if not _exists(connection, login):
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(name, password))
        done.append(f"created login {login}")
    elif not _logs_in(url):
        _check_ours(connection, alias, login)
        connection.execute(sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(name, password))
        done.append(f"changed the password of {login}")
    _check_held(connection, login)
    connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(group), name))
    connection.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(sql.Identifier(group)))
    connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(_database(connection), name))
    return done


def _logs_in(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=10).close()
    except psycopg.OperationalError:
        return False
    return True


def _check_ours(connection: psycopg.Connection, alias: str, login: str) -> None:
    """The password of a login is changed only when no other database may use it, and the owner may change it."""
    _check_held(connection, login)
    wrong = f"the login {login} of {SETTINGS[alias]} does not log in with the password given"
    known = {"login": login, "group": GROUPS[alias]}
    if others := [row[0] for row in connection.execute(_OTHER_DATABASES, known).fetchall()]:
        raise SetupRefused(
            f"{wrong}, and it may serve the database {' and '.join(others)} too, so its password is left as it is; "
            f"name another login in {SETTINGS[alias]}, or, if that database has logins of its own, run this release's "
            "setup_database for it first"
        )
    row = connection.execute(_MAY_ALTER, known).fetchone()
    if row is None or not row[0]:
        raise SetupRefused(
            f"{wrong}, and the owner may not change it, since somebody else made it; "
            f"whoever did runs ALTER ROLE {login} PASSWORD …"
        )


def _exists(connection: psycopg.Connection, role: str) -> bool:
    return connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone() is not None


def _database(connection: psycopg.Connection) -> sql.Identifier:
    return sql.Identifier(connection.info.dbname)


def _login(url: str) -> str:
    return unquote(urlsplit(url).username or "")


def _first_line(error: psycopg.Error) -> str:
    return str(error).strip().splitlines()[0]


def _check_owner(connection: psycopg.Connection) -> None:
    row = connection.execute(
        "SELECT rolsuper OR rolbypassrls, rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    if row is None or not row[0]:
        raise SetupRefused("the login of DATABASE_OWNER_URL needs BYPASSRLS (ALTER ROLE … BYPASSRLS)")
    if not row[1]:
        raise SetupRefused("the login of DATABASE_OWNER_URL needs CREATEROLE to make Toolgate's roles")


def _check_held(connection: psycopg.Connection, login: str) -> None:
    row = connection.execute(
        "SELECT rolsuper OR rolbypassrls OR rolname = current_user FROM pg_roles WHERE rolname = %s", [login]
    ).fetchone()
    if row is None or row[0]:
        raise SetupRefused(
            f"the login {login} must be neither the owner nor superuser nor BYPASSRLS: it would see through tenants"
        )
